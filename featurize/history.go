package featurize

// History is what the account remembers, from earlier mail only, that helps to
// judge one message. All are plain counts; the zero value is a stranger in a new
// thread.
type History struct {
	// The sender (the first address of From).
	Received uint32 // messages from it
	Answered uint32 // of those, how many the owner answered
	Written  uint32 // messages of the owner to it
	Recent   uint32 // bit i: the i-th last message from it was answered

	// The sender's domain.
	DomainReceived uint32
	DomainAnswered uint32

	// The thread.
	Known          bool   // an earlier message of it is remembered
	Messages       uint32 // earlier messages
	ByOwner        uint32 // of those, the owner's
	ThreadAnswered uint32 // of the others', how many the owner answered
	Since          uint32 // messages since the owner's last, if ByOwner > 0
	BySender       uint32 // earlier messages of this sender
	SenderAnswered uint32 // of those, how many the owner answered

	// The message that this one answers.
	ParentKnown    bool
	ParentOwn      bool // it is the owner's
	ParentAnswered bool // the owner answered it
	ParentSender   bool // it is of this sender, too

	// The topic: earlier threads, or versions of a patch, with the same subject.
	TopicMessages uint32
	TopicByOwner  uint32
	TopicAnswered uint32
}

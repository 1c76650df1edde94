// Package where finds things before a configuration is read: the file itself, the
// directory of the state, and the socket of the daemon. It is apart from config
// because a mail filter needs just that, once for each message, and must not
// load more than that.
package where

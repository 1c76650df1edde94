// Package where finds things before a configuration is read: the file itself, the
// directory of the state, and the socket of the daemon. It is apart from config
// because package quick needs just that, once for each message that a mail filter
// gets. For the reason given there it imports nothing that package os does not
// import anyway, save bytes.
package where

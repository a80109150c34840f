// Command licences reads the licence of every module that is built into kaasd and
// prints them. It ends with 1 when one is not permissive, cannot be recognised, or
// is not there at all.
//
//	licences
//
// It works on the module cache alone: whatever can be built can be checked. A
// text is recognised by sentences that no other licence has, after everything but
// words has been taken out of it. One file may hold several licences; one that
// is not allowed is enough to refuse the module.
package main

// Command quotakill alters quotas of users, client-ids, pairs, addresses and
// their defaults on a kaasd of its own, several clients at once, and kills it
// some moment after an answer. After each restart the broker must describe
// exactly what it has acknowledged. A request that was not answered may be in
// force or not, but with all of its entries.
//
//	quotakill --kaasd dist/kaasd --kills 50
//
// It prints what it counted, and ends with 1 at the first difference.
package main

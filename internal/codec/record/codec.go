package record

// Codec is how the records of a batch are compressed.
type Codec uint8

// The codecs, by their number in the attributes.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

var codecNames = [...]string{None: "none", Gzip: "gzip", Snappy: "snappy", LZ4: "lz4", Zstd: "zstd"}

// CodecOf finds a codec by its name in compression.type. "uncompressed" is
// what that config calls None.
func CodecOf(name string) (Codec, bool) {
	if name == "uncompressed" {
		return None, true
	}
	for c, n := range codecNames {
		if n == name {
			return Codec(c), true
		}
	}
	return None, false
}

// known says whether the format has such a codec; the numbers 5 to 7 are free.
func (c Codec) known() bool { return int(c) < len(codecNames) }

// String is the codec's name, or "unknown".
func (c Codec) String() string {
	if !c.known() {
		return "unknown"
	}
	return codecNames[c]
}

package message_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
)

// fill sets every field below v to a random value: nil now and then where nil
// is possible, arrays of up to three elements.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() && r.IntN(4) == 0 {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			name, f := v.Type().Field(i).Name, v.Field(i)
			if name != "Version" && name != "UnknownTags" && f.Kind() != reflect.Interface {
				fill(r, f)
			}
		}
	case reflect.Slice:
		fillSlice(r, v)
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	default:
		fillScalar(r, v)
	}
}

func fillSlice(r *rand.Rand, v reflect.Value) {
	n := r.IntN(5) - 1
	if n < 0 && v.Type().Elem().Kind() != reflect.Uint8 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), max(n, 0), max(n, 0)))
	for i := range v.Len() {
		fill(r, v.Index(i))
	}
}

func fillScalar(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Uint8, reflect.Uint16:
		v.SetUint(r.Uint64() >> (64 - v.Type().Bits()))
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> (64 - v.Type().Bits()))
	case reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.String:
		v.SetString(strings.Repeat(string(rune('a'+r.IntN(26))), []int{0, 1, 5, 126, 127, 128, 300}[r.IntN(7)]))
	default:
		panic("no random " + v.Type().String())
	}
}

package kafka

import "testing"

var aliceReads = ACL{Type: ResourceTopic, Name: "orders", Pattern: PatternLiteral, Principal: "User:alice", Host: "*", Operation: OpRead, Permission: PermissionAllow}

func changed(change func(*ACL)) ACL {
	a := aliceReads
	change(&a)
	return a
}

func TestACLsThatCannotBe(t *testing.T) {
	if err := aliceReads.Check(); err != nil {
		t.Errorf("%s: %v", aliceReads, err)
	}
	for name, a := range map[string]ACL{
		"any type":               changed(func(a *ACL) { a.Type = ResourceAny }),
		"a type to come":         changed(func(a *ACL) { a.Type = 8 }),
		"a negative type":        changed(func(a *ACL) { a.Type = -1 }),
		"match":                  changed(func(a *ACL) { a.Pattern = PatternMatch }),
		"any operation":          changed(func(a *ACL) { a.Operation = OpAny }),
		"an operation to come":   changed(func(a *ACL) { a.Operation = 16 }),
		"any permission":         changed(func(a *ACL) { a.Permission = PermissionAny }),
		"no name":                changed(func(a *ACL) { a.Name = "" }),
		"another cluster":        changed(func(a *ACL) { a.Type = ResourceCluster }),
		"a principal of no type": changed(func(a *ACL) { a.Principal = "alice" }),
		"no host":                changed(func(a *ACL) { a.Host = "" }),
	} {
		if err := a.Check(); CodeOf(err) != InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACLFilters(t *testing.T) {
	every := ACLFilter{Type: ResourceAny, Pattern: PatternAny, Operation: OpAny, Permission: PermissionAny}
	with := func(change func(*ACLFilter)) ACLFilter {
		f := every
		change(&f)
		return f
	}
	text := func(s string) *string { return &s }
	named := func(p PatternType, name string) ACLFilter {
		return with(func(f *ACLFilter) { f.Pattern, f.Name = p, &name })
	}
	prefixed := changed(func(a *ACL) { a.Pattern, a.Name = PatternPrefixed, "ord" })
	all := changed(func(a *ACL) { a.Name = Wildcard })
	for _, c := range []struct {
		name   string
		filter ACLFilter
		acl    ACL
		want   bool
	}{
		{"any", every, aliceReads, true},
		{"its type", with(func(f *ACLFilter) { f.Type = ResourceTopic }), aliceReads, true},
		{"another type", with(func(f *ACLFilter) { f.Type = ResourceGroup }), aliceReads, false},
		{"its operation", with(func(f *ACLFilter) { f.Operation = OpRead }), aliceReads, true},
		{"all is not every operation", with(func(f *ACLFilter) { f.Operation = OpAll }), aliceReads, false},
		{"another permission", with(func(f *ACLFilter) { f.Permission = PermissionDeny }), aliceReads, false},
		{"its principal", with(func(f *ACLFilter) { f.Principal = text("User:alice") }), aliceReads, true},
		{"another principal", with(func(f *ACLFilter) { f.Principal = text("User:*") }), aliceReads, false},
		{"another host", with(func(f *ACLFilter) { f.Host = text("10.0.0.1") }), aliceReads, false},
		{"its name", named(PatternAny, "orders"), aliceReads, true},
		{"its name, literal", named(PatternLiteral, "orders"), aliceReads, true},
		{"its name, prefixed", named(PatternPrefixed, "orders"), aliceReads, false},
		{"a longer name", named(PatternAny, "orders1"), aliceReads, false},
		{"match by name", named(PatternMatch, "orders"), aliceReads, true},
		{"match by prefix", named(PatternMatch, "orders"), prefixed, true},
		{"match of another prefix", named(PatternMatch, "or"), prefixed, false},
		{"match by wildcard", named(PatternMatch, "orders"), all, true},
		{"any is not match", named(PatternAny, "orders"), all, false},
		{"match without a name", with(func(f *ACLFilter) { f.Pattern = PatternMatch }), prefixed, true},
	} {
		if got := c.filter.Matches(c.acl); got != c.want || c.filter.Check() != nil {
			t.Errorf("%s: got %v, %v", c.name, got, c.filter.Check())
		}
	}
	for name, f := range map[string]ACLFilter{
		"type": with(func(f *ACLFilter) { f.Type = 0 }), "pattern": with(func(f *ACLFilter) { f.Pattern = 5 }),
		"operation": with(func(f *ACLFilter) { f.Operation = 99 }), "permission": with(func(f *ACLFilter) { f.Permission = -1 }),
	} {
		if err := f.Check(); CodeOf(err) != InvalidRequest {
			t.Errorf("unknown %s: %v", name, err)
		}
	}
}

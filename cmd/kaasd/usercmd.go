package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kaasd/internal/credstore"
	"kaasd/internal/kafka"
)

func newUser(a *app) *cobra.Command {
	return group(a, "user", "edit the users of a credentials file",
		newUserAdd(a), newUserSet(a), newUserRemove(a), newUserList(a))
}

// userFlags are what can be said of a user.
type userFlags struct {
	file                    string
	password                passwordFlags
	mechanism               string
	tlsCN, serviceAccount   string
	produce, fetch, request string
}

func (f *userFlags) add(c *cobra.Command) {
	fileFlag(c, &f.file)
	f.password.add(c)
	c.Flags().StringVar(&f.mechanism, "mechanism", credstore.AuthScramSHA512, "how the password is kept: scram-sha-512 or scram-sha-256")
	c.Flags().StringVar(&f.tlsCN, "tls-cn", "", "the common name of a client certificate (or all of its subject, after ssl.principal.mapping.rules), instead of a password")
	c.Flags().StringVar(&f.serviceAccount, "service-account", "", "a Kubernetes service account NAMESPACE/NAME, instead of a password; there is no log-in for it yet")
	c.Flags().StringVar(&f.produce, "produce", "", "base quota of producing, such as 1MiB; 0 for none")
	c.Flags().StringVar(&f.fetch, "fetch", "", "base quota of fetching, such as 1MiB; 0 for none")
	c.Flags().StringVar(&f.request, "request", "", "base quota of request time, such as 50%; 0 for none")
}

func fileFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "file", "", "the credentials file (credentials.file; "+defaultCredentials+")")
}

// change is what the flags ask for. A password is asked for when needed says
// so and nothing else gives the kind of log-in.
func (f *userFlags) change(a *app, c *cobra.Command, name string, needed bool) (ch credstore.Change, generated string, err error) {
	if ch.Quotas, err = f.quotas(c); err != nil {
		return ch, "", err
	}
	for _, flag := range []string{"tls-cn", "service-account"} {
		if c.Flags().Changed(flag) && c.Flag(flag).Value.String() == "" {
			return ch, "", usagef("--%s is empty (is the variable it comes from set?)", flag)
		}
	}
	ch.TLSCN = f.tlsCN
	if f.serviceAccount != "" {
		namespace, account, ok := strings.Cut(f.serviceAccount, "/")
		if !ok || namespace == "" || account == "" {
			return ch, "", usagef("--service-account: %q is not NAMESPACE/NAME", f.serviceAccount)
		}
		ch.ServiceAccount = &credstore.ServiceAccount{Name: account, Namespace: namespace}
	}
	otherKind := f.tlsCN != "" || f.serviceAccount != ""
	if f.password.given() || needed && !otherKind {
		if err := checkLoginName(name); err != nil {
			return ch, "", err
		}
		var password string
		if password, generated, err = f.password.read(a, name); err == nil {
			ch.Scram, err = f.keys(password)
		}
	}
	return ch, generated, err
}

// maxEscapedName is the longest name in the first message of SCRAM, where a comma and
// an equals sign are three bytes each. Of its 8 KiB half of one is for the nonce and
// the rest.
const maxEscapedName = 7680

// checkLoginName refuses a name with which nobody could log in.
func checkLoginName(name string) error {
	escaped := len(name) + 2*(strings.Count(name, ",")+strings.Count(name, "="))
	switch {
	case strings.ContainsRune(name, 0):
		return usagef("the name %.64q holds a zero byte, which no log-in can carry", name)
	case len(name) > kafka.MaxName:
		return usagef("the name %.64q~ has %d bytes: %d is the most for a log-in", name, len(name), kafka.MaxName)
	case escaped > maxEscapedName:
		return usagef("the name %.64q~ takes %d bytes in a log-in, where commas and equals signs are three each: %d is the most", name, escaped, maxEscapedName)
	}
	return nil
}

// keys are what the file keeps of a password.
func (f *userFlags) keys(password string) (*kafka.ScramCredential, error) {
	mechanisms := map[string]kafka.ScramMechanism{credstore.AuthScramSHA512: kafka.ScramSHA512, credstore.AuthScramSHA256: kafka.ScramSHA256}
	m, ok := mechanisms[f.mechanism]
	if !ok {
		return nil, usagef("--mechanism: %q is not scram-sha-512 or scram-sha-256", f.mechanism)
	}
	keys, err := credstore.NewScram(m, password)
	if err != nil {
		return nil, &exitError{code: exitUsage, err: err}
	}
	return &keys, nil
}

func (f *userFlags) quotas(c *cobra.Command) (map[string]int64, error) {
	quotas := map[string]int64{}
	for short, text := range map[string]string{"produce": f.produce, "fetch": f.fetch, "request": f.request} {
		if !c.Flags().Changed(short) {
			continue
		}
		k, err := findQuotaKey(short)
		if err != nil {
			return nil, err
		}
		v, err := k.parse(text)
		if err != nil {
			return nil, usagef("--%s: %w", short, err)
		}
		if v >= math.MaxInt64 {
			return nil, usagef("--%s: %q is too large", short, text)
		}
		if v < 0 || v != float64(int64(v)) {
			return nil, usagef("--%s: %q is not a whole number above zero, or 0 for none", short, text)
		}
		quotas[k.key] = int64(v)
	}
	return quotas, nil
}

// oneUser asks for exactly one NAME. What stands behind it is not told: it may be a
// password of somebody who takes that for its place.
func oneUser(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes one NAME, and no password (--password-stdin, --generate, or a terminal to type it)", c.CommandPath())
	}
	return oneArg("NAME")(c, args)
}

func newUserAdd(a *app) *cobra.Command {
	var f userFlags
	c := &cobra.Command{Use: "add NAME", Short: "add a user", Args: oneUser, RunE: func(c *cobra.Command, args []string) error {
		return a.editUser(c, &f, args[0], true)
	}}
	f.add(c)
	return c
}

func newUserSet(a *app) *cobra.Command {
	var f userFlags
	c := &cobra.Command{Use: "set NAME", Short: "change a user's quotas, password or kind of log-in", Args: oneUser, RunE: func(c *cobra.Command, args []string) error {
		return a.editUser(c, &f, args[0], false)
	}}
	f.add(c)
	return c
}

// editUser adds a user, or changes one.
func (a *app) editUser(c *cobra.Command, f *userFlags, name string, add bool) error {
	path, err := a.credentialsPath(f.file)
	if err != nil {
		return err
	}
	if f.password.generate {
		if err := a.mustBeRead("the password"); err != nil {
			return err
		}
		signal.Ignore(syscall.SIGPIPE) // a reader that has gone must not keep us from telling what was done
	}
	ch, generated, err := f.change(a, c, name, add)
	if err != nil {
		return err
	}
	err = credstore.Edit(path, add, func(d *credstore.Document) error {
		if add {
			return misuse(d.Add(name, ch))
		}
		return misuse(d.Set(name, ch))
	})
	if err != nil {
		return editError(path, err)
	}
	return a.showEdit(add, name, path, ch, generated)
}

// misuse marks what is wrong with the arguments, not with the file.
func misuse(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitUsage, err: err}
}

func editError(path string, err error) error {
	var e *exitError
	var bad credstore.Finding
	switch {
	case errors.As(err, &e):
		return err
	case errors.As(err, &bad):
		return exitWith(exitInput, "%s", bad.In(path))
	case errors.Is(err, credstore.ErrNoFile):
		return exitWith(exitInput, "%s: no such file (kaasd user add makes it, --file names another)", path)
	case errors.Is(err, credstore.ErrProjected):
		return exitWith(exitFailed, "%s: %w", path, err)
	}
	var p *fs.PathError
	switch {
	case errors.As(err, &p) && errors.Is(err, fs.ErrNotExist):
		return exitWith(exitFailed, "%s: there is no such folder (mkdir -p makes it, --file names another file)", p.Path)
	case p != nil:
		return exitWith(exitFailed, "%s: %w", p.Path, p.Err)
	}
	return &exitError{code: exitFailed, err: err}
}

// editedUser is what became of an edit, for JSON.
type editedUser struct {
	Username string           `json:"username"`
	Action   string           `json:"action"` // added, changed, removed
	File     string           `json:"file"`
	Quotas   map[string]int64 `json:"quotas,omitempty"`   // as given; 0: none
	Password string           `json:"password,omitempty"` // only when it was made here
}

func (a *app) showEdit(add bool, name, path string, ch credstore.Change, generated string) error {
	action, toward := "changed", "in"
	if add {
		action, toward = "added", "to"
	}
	a.done("user %s was %s %s %s", strconv.Quote(name), action, toward, path)
	if generated != "" {
		a.stdout.what, a.stdout.wayOut = "the new password", fmt.Sprintf(" (kaasd user set %s --generate --file %s makes another)", shellText(name), shellText(path))
	}
	if a.json() {
		return a.document(editedUser{name, action, path, ch.Quotas, generated})
	}
	a.printf("%s %s (%s) %s %s\n", action, printable(name), printable(strings.Join(changeWords(ch), ", ")), toward, printable(path))
	if generated != "" {
		a.printf("password: %s\n", generated)
	}
	return nil
}

// changeWords says in words what was set.
func changeWords(ch credstore.Change) []string {
	var words []string
	switch {
	case ch.Scram != nil:
		words = append(words, strings.ToLower(ch.Scram.Mechanism.String()), fmt.Sprintf("%d iterations", ch.Scram.Iterations))
	case ch.TLSCN != "":
		words = append(words, "tls CN="+ch.TLSCN)
	case ch.ServiceAccount != nil:
		words = append(words, "service account "+ch.ServiceAccount.Namespace+"/"+ch.ServiceAccount.Name)
	}
	for _, k := range quotaKeys {
		v, ok := ch.Quotas[k.key]
		switch {
		case !ok:
		case v == 0:
			words = append(words, "no "+k.short+" quota")
		default:
			words = append(words, k.short+" "+k.format(float64(v)))
		}
	}
	return words
}

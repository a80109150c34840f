package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"kaasd/internal/credstore"
)

func newUserRemove(a *app) *cobra.Command {
	var file string
	var yes bool
	c := &cobra.Command{Use: "remove NAME", Short: "remove a user", Args: oneArg("NAME"), RunE: func(_ *cobra.Command, args []string) error {
		path, err := a.credentialsPath(file)
		if err != nil {
			return err
		}
		if err := a.confirm(yes, fmt.Sprintf("remove %s from %s?", args[0], path)); err != nil {
			return err
		}
		err = credstore.Edit(path, false, func(d *credstore.Document) error { return misuse(d.Remove(args[0])) })
		if err != nil {
			return editError(path, err)
		}
		a.done("user %s was removed from %s", strconv.Quote(args[0]), path)
		if a.json() {
			return a.document(editedUser{Username: args[0], Action: "removed", File: path})
		}
		a.printf("removed %s from %s\n", printable(args[0]), printable(path))
		return nil
	}}
	fileFlag(c, &file)
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// confirm asks on a terminal; elsewhere somebody must have said yes before.
func (a *app) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !isTerminal(a.in) {
		return usagef("%s (--yes is needed where nobody can be asked)", question)
	}
	fmt.Fprintf(a.err, "%s [y/N] ", printable(question))
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err != nil || answer != "y" && answer != "yes" {
		return exitWith(exitFailed, "nothing is changed")
	}
	return nil
}

func newUserList(a *app) *cobra.Command {
	var file string
	c := &cobra.Command{Use: "list", Short: "list the users with their base quotas", Args: noArgs, RunE: func(*cobra.Command, []string) error {
		path, err := a.credentialsPath(file)
		if err != nil {
			return err
		}
		snapshot, err := readCredentials(path)
		if err != nil {
			return err
		}
		return a.showUsers(snapshot.Sorted())
	}}
	fileFlag(c, &file)
	return c
}

func readCredentials(path string) (*credstore.Snapshot, error) {
	raw, err := credstore.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exitWith(exitInput, "%s: no such file (kaasd user add makes it, --file names another)", path)
	}
	if err != nil {
		return nil, &exitError{code: exitInput, err: err}
	}
	snapshot, _, err := credstore.Parse(raw)
	if err != nil {
		var bad credstore.Finding
		if errors.As(err, &bad) {
			return nil, exitWith(exitInput, "%s", bad.In(path))
		}
		return nil, exitWith(exitInput, "%s: %w", path, err)
	}
	return snapshot, nil
}

// listedUser is one user for JSON; no keys, no salts, no passwords.
type listedUser struct {
	Username       string             `json:"username"`
	AuthType       string             `json:"auth_type"`
	TLSCN          string             `json:"tls_cn,omitempty"`
	ServiceAccount string             `json:"service_account,omitempty"`
	Quotas         map[string]float64 `json:"quotas"`
	CanLogin       bool               `json:"can_login"`
	WhyNot         string             `json:"why_not,omitempty"`
}

func (a *app) showUsers(users []*credstore.User) error {
	all := []listedUser{}
	rows := [][]string{{"USER", "AUTH", "PRODUCE", "FETCH", "REQUEST"}}
	for _, u := range users {
		l := listedUser{Username: u.Username, AuthType: u.AuthType, TLSCN: u.TLSCN, Quotas: map[string]float64{}}
		if u.ServiceAccount != nil {
			l.ServiceAccount = u.ServiceAccount.Namespace + "/" + u.ServiceAccount.Name
		}
		l.CanLogin, l.WhyNot = u.CanLogin()
		row := []string{u.Username, l.auth()}
		for _, k := range quotaKeys[:3] {
			cell := "-"
			if v, ok := u.Quotas[k.key]; ok {
				l.Quotas[k.key], cell = v, k.format(v)
			}
			row = append(row, cell)
		}
		all, rows = append(all, l), append(rows, row)
	}
	if a.json() {
		return a.document(map[string]any{"users": all})
	}
	table(a.out, "", rows)
	return nil
}

// auth is the kind of log-in in one cell, with what stands in its way.
func (l listedUser) auth() string {
	text := l.AuthType
	switch {
	case l.TLSCN != "":
		text += " CN=" + l.TLSCN
	case l.ServiceAccount != "":
		text += " " + l.ServiceAccount + " (no log-in yet)"
	case !l.CanLogin:
		text += " (no log-in: " + l.WhyNot + ")"
	}
	return text
}

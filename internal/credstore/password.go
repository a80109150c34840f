package credstore

import (
	"crypto/rand"
	"errors"
	"math/big"

	"kaasd/internal/kafka"
)

// NewScram makes the keys of a password, with a salt of its own.
func NewScram(m kafka.ScramMechanism, password string) (kafka.ScramCredential, error) {
	if password == "" {
		return kafka.ScramCredential{}, errors.New("the password is empty")
	}
	salt := make([]byte, kafka.ScramSaltSize)
	rand.Read(salt)
	return kafka.NewScramCredential(m, password, salt, kafka.ScramIterations)
}

// passwordLetters leaves out what looks alike.
const passwordLetters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"

// passwordSize gives 139 bits.
const passwordSize = 24

// NewPassword makes a password nobody could guess.
func NewPassword() string {
	password := make([]byte, passwordSize)
	for i := range password {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(passwordLetters))))
		if err != nil { // rand.Reader ends the process rather than fail
			panic("credstore: no randomness: " + err.Error())
		}
		password[i] = passwordLetters[n.Int64()]
	}
	return string(password)
}

// A receiver of webhooks in Go 1.19 or later, without dependencies. WEBHOOK_SECRET=whsec_... go run receiver.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	tolerance = 300 * time.Second
	maxBytes  = 1_048_576
)

// Events that are done already. A delivery may come twice; keep these where your data is.
var (
	lock sync.Mutex
	seen = map[string]bool{}
)

// isGenuine tells whether the call is ours: signed over `id.timestamp.body`, and not older than five minutes.
func isGenuine(key []byte, header http.Header, body []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseUint(timestamp, 10, 40)
	if id == "" || err != nil {
		return false
	}
	if age := time.Since(time.Unix(int64(seconds), 0)); age > tolerance || age < -tolerance {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := mac.Sum(nil)
	// While a secret is rotated there are two signatures, one of each secret.
	for _, signature := range strings.Split(header.Get("webhook-signature"), " ") {
		given, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, "v1,"))
		if strings.HasPrefix(signature, "v1,") && err == nil && hmac.Equal(given, expected) {
			return true
		}
	}
	return false
}

type event struct {
	Type     string `json:"type"`
	Sequence string `json:"sequence"`
	Resource struct {
		ID string `json:"id"`
	} `json:"resource"`
}

// newest has the number of the newest margin event of each account; keep these where your data is.
var newest = map[string]uint64{}

// keepNewest: deliveries come in any order. A margin event does not raise the version of its account: its number counts.
func keepNewest(event event) {
	if event.Type != "margin.call" && event.Type != "margin.recovered" && event.Type != "stop.out" {
		return
	}
	number, err := strconv.ParseUint(event.Sequence, 10, 64)
	if err == nil && number > newest[event.Resource.ID] {
		newest[event.Resource.ID] = number
		fmt.Println("margin", event.Resource.ID, event.Type, number)
	}
}

// accept puts the event where your own work finds it; answer at once: after ten seconds the call counts as failed.
func accept(id string, body []byte) error {
	var event event
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	lock.Lock()
	defer lock.Unlock()
	if !seen[id] {
		seen[id] = true
		keepNewest(event)
		fmt.Println("accepted", id, event.Type)
	}
	return nil
}

func statusOf(key []byte, writer http.ResponseWriter, request *http.Request) int {
	if request.Method != http.MethodPost {
		writer.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed
	}
	// The exact bytes that were signed: a body that was parsed and written again has others.
	body, err := io.ReadAll(http.MaxBytesReader(writer, request.Body, maxBytes))
	if err != nil {
		return http.StatusRequestEntityTooLarge
	}
	if !isGenuine(key, request.Header, body) || accept(request.Header.Get("webhook-id"), body) != nil {
		return http.StatusBadRequest
	}
	return http.StatusNoContent
}

func main() {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	if err != nil || len(key) != 32 {
		log.Fatal("WEBHOOK_SECRET is not the secret of an endpoint.")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "4000"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening", listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{
		ReadTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			writer.WriteHeader(statusOf(key, writer, request))
		}),
	}
	log.Fatal(server.Serve(listener))
}

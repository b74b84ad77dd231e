// A receiver of the gateway's webhooks on net/http. It is right, unless FLAW names what it does wrong.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	maxBodyBytes   = 1 << 20
	handlerTimeout = 500 * time.Millisecond
	slowFor        = 1500 * time.Millisecond
	// Long enough that the next request arrives meanwhile.
	raceFor = 300 * time.Millisecond
)

var (
	secret = os.Getenv("GATEWAY_WEBHOOK_SECRET")
	flaw   = os.Getenv("FLAW")

	headerNames = []string{"X-Webhook-Type", "X-Webhook-Id", "X-Webhook-Timestamp", "X-Webhook-Signature"}
	grammar     = []*regexp.Regexp{
		regexp.MustCompile(`^[0-9A-Za-z._-]{1,128}$`),
		regexp.MustCompile(`^[0-9A-Za-z._-]{1,128}$`),
		regexp.MustCompile(`^[0-9]{1,12}$`),
		regexp.MustCompile(`^v1=[0-9a-f]{64}$`),
	}
	recordKeys = map[string]string{"new_alarm": "alarm", "delete_my_data_event": "event"}

	mutex     sync.Mutex
	done      = map[string]time.Time{}
	running   = map[string]bool{}
	effects   = map[string]int{}
	failures  = map[string]int{}
	failing   bool
	slowOver  = closedChannel()
	currentID string
)

func closedChannel() chan struct{} {
	channel := make(chan struct{})
	close(channel)
	return channel
}

// runHandler is the partner's own work. It reports whether it succeeded.
func runHandler(id string) bool {
	mutex.Lock()
	over := slowOver
	mutex.Unlock()
	select {
	case <-over:
	case <-time.After(slowFor):
	}
	mutex.Lock()
	defer mutex.Unlock()
	if failing {
		return false
	}
	effects[id]++
	return true
}

func isDone(id string) bool {
	at, known := done[id]
	return known && (flaw != "forgets_after_500ms" || time.Since(at) < 500*time.Millisecond)
}

// handleOnce claims the id, runs the handler and settles the claim. It returns the status.
func handleOnce(id string, fields map[string]any) int {
	_, isAlarm := fields["payload"]
	if flaw == "zero_site" && !isAlarm && fields["site_id"] == 0.0 {
		return 200
	}
	mutex.Lock()
	if isDone(id) {
		mutex.Unlock()
		return 200
	}
	if running[id] {
		mutex.Unlock()
		return 409
	}
	running[id] = true
	mutex.Unlock()

	settled := make(chan int, 1)
	go func() {
		succeeded := runHandler(id)
		mutex.Lock()
		delete(running, id)
		if succeeded && !(flaw == "forgets_bureau" && fields["source"] == "BureauCreditB") {
			done[id] = time.Now()
		}
		if !succeeded {
			failures[id]++
		}
		isSwallowed := flaw == "dead_letters" && failures[id] > 5 ||
			flaw == "ignores_deleted" && fields["type"] == "DATA_DELETED"
		mutex.Unlock()
		if !succeeded && isSwallowed {
			settled <- 200
		} else if !succeeded {
			settled <- 500
		} else if flaw == "answers_202" {
			settled <- 202
		} else {
			settled <- 200
		}
	}()
	if flaw == "goroutine" {
		return 200
	}
	select {
	case status := <-settled:
		return status
	case <-time.After(handlerTimeout):
		return 503
	}
}

// handleUnlocked releases the lock between the look-up and the write: two requests can pass.
func handleUnlocked(id string) int {
	mutex.Lock()
	known := isDone(id)
	mutex.Unlock()
	if known {
		return 200
	}
	time.Sleep(raceFor)
	if !runHandler(id) {
		return 500
	}
	mutex.Lock()
	done[id] = time.Now()
	mutex.Unlock()
	return 200
}

func setCurrent(id string) {
	mutex.Lock()
	currentID = id
	mutex.Unlock()
}

func getCurrent() string {
	mutex.Lock()
	defer mutex.Unlock()
	return currentID
}

// signedBytes is what the signature is computed over.
func signedBytes(body []byte) ([]byte, error) {
	switch flaw {
	case "reencoded":
		var compact bytes.Buffer
		err := json.Compact(&compact, body)
		return compact.Bytes(), err
	case "trims_body":
		return bytes.TrimSpace(body), nil
	}
	return body, nil
}

func macOf(key string, parts ...[]byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	for _, part := range parts {
		mac.Write(part)
	}
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

// matches compares two signatures, which are v1= and 64 digits.
func matches(expected, given string) bool {
	mac, _ := hex.DecodeString(expected[len("v1="):])
	other, _ := hex.DecodeString(given[len("v1="):])
	switch flaw {
	case "sum_of_differences":
		sum := 0
		for i := range mac {
			sum += int(mac[i]) - int(other[i])
		}
		return sum == 0
	case "equal_fold_base64":
		encoding := base64.StdEncoding
		return strings.EqualFold(encoding.EncodeToString(mac), encoding.EncodeToString(other))
	}
	return hmac.Equal([]byte(expected), []byte(given))
}

func isSigned(timestamp, id, signature string, body []byte) bool {
	signed, err := signedBytes(body)
	if err != nil {
		return false
	}
	prefix := []byte("v1:" + timestamp + ":" + id + ":")
	keys := []string{secret}
	if flaw == "empty_secret" {
		keys = append(keys, os.Getenv("OLD_WEBHOOK_SECRET"))
	}
	for _, key := range keys {
		if matches(macOf(key, prefix, signed), signature) {
			return true
		}
	}
	return flaw == "body_only" && hmac.Equal([]byte(macOf(secret, signed)), []byte(signature))
}

// readBody reads the whole body and keeps at most maxBodyBytes of it.
func readBody(r *http.Request) (body []byte, isTooLarge bool, err error) {
	if flaw == "limit_64k" {
		body, err = io.ReadAll(io.LimitReader(r.Body, 64<<10))
		return body, false, err
	}
	body, err = io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	if err == nil && len(body) > maxBodyBytes {
		_, err = io.Copy(io.Discard, io.LimitReader(r.Body, 8<<20))
		return nil, true, err
	}
	return body, false, err
}

func refusal() int {
	if flaw == "answers_401" {
		return 401
	}
	return 409
}

func receive(r *http.Request) int {
	body, isTooLarge, err := readBody(r)
	if err != nil {
		return 409
	}
	if isTooLarge {
		if flaw == "acknowledges_big" {
			return 200
		}
		return 409
	}
	values := make([]string, len(headerNames))
	for at, name := range headerNames {
		given := r.Header.Values(name)
		if len(given) != 1 || !grammar[at].MatchString(given[0]) {
			return refusal()
		}
		values[at] = given[0]
	}
	webhookType, id, timestamp, signature := values[0], values[1], values[2], values[3]
	if !isSigned(timestamp, id, signature, body) {
		return refusal()
	}
	seconds, _ := strconv.ParseInt(timestamp, 10, 64)
	tolerance := int64(300)
	if flaw == "ten_seconds" {
		tolerance = 10
	}
	age := time.Now().Unix() - seconds
	if flaw == "int32_age" {
		age = int64(int32(age))
	}
	if age > tolerance || -age > tolerance {
		return refusal()
	}
	if !utf8.Valid(body) {
		return 503
	}
	var record map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &record) != nil {
		return 503
	}
	key := ""
	for _, name := range recordKeys {
		if _, has := record[name]; has {
			key = name
		}
	}
	if key == "" {
		return 503
	}
	if flaw != "type_header" && recordKeys[webhookType] != key {
		return refusal()
	}
	if status := checkFields(record[key]); status != 0 {
		return status
	}
	switch flaw {
	case "lower_case_ids":
		return handleFolded(id, strings.ToLower(id))
	case "check_then_act":
		return handleUnlocked(id)
	case "package_variable":
		setCurrent(id)
		time.Sleep(raceFor)
		return handleOnce(getCurrent(), nil)
	}
	var fields map[string]any
	_ = json.Unmarshal(record[key], &fields)
	if text, _ := fields["occurred_at"].(string); flaw == "seconds_alone" && strings.Contains(text, ".") {
		return 400
	}
	return handleOnce(id, fields)
}

// handleFolded remembers another spelling of the id than the one that is handled.
func handleFolded(id, folded string) int {
	mutex.Lock()
	known := isDone(folded)
	mutex.Unlock()
	if known {
		return 200
	}
	status := handleOnce(id, nil)
	if status == 200 {
		mutex.Lock()
		done[folded] = time.Now()
		mutex.Unlock()
	}
	return status
}

// checkFields reads the record into a type that is too narrow.
func checkFields(record json.RawMessage) int {
	switch flaw {
	case "int32_ids":
		var narrow struct {
			ID        int32 `json:"id"`
			AccountID int32 `json:"account_id"`
		}
		if json.Unmarshal(record, &narrow) != nil {
			return 400
		}
	case "disallows_unknown_fields":
		var known struct {
			ID              json.RawMessage `json:"id"`
			Text            json.RawMessage `json:"text"`
			AccountID       json.RawMessage `json:"account_id"`
			Severity        json.RawMessage `json:"severity"`
			Status          json.RawMessage `json:"status"`
			Source          json.RawMessage `json:"source"`
			EventType       json.RawMessage `json:"event_type"`
			CategoryID      json.RawMessage `json:"category_id"`
			OriginalEventID json.RawMessage `json:"original_event_id"`
			Payload         json.RawMessage `json:"payload"`
			Date            json.RawMessage `json:"date"`
			CheckedAt       json.RawMessage `json:"checked_at"`
			CreatedAt       json.RawMessage `json:"created_at"`
			UpdatedAt       json.RawMessage `json:"updated_at"`
			Type            json.RawMessage `json:"type"`
			ClientID        json.RawMessage `json:"client_id"`
			SiteID          json.RawMessage `json:"site_id"`
			SiteName        json.RawMessage `json:"site_name"`
			SiteBaseURL     json.RawMessage `json:"site_base_url"`
			OccurredAt      json.RawMessage `json:"occurred_at"`
		}
		decoder := json.NewDecoder(bytes.NewReader(record))
		decoder.DisallowUnknownFields()
		if decoder.Decode(&known) != nil {
			return 422
		}
	}
	return 0
}

func control(path string) {
	mutex.Lock()
	switch path {
	case "/control/failing/on":
		failing = true
	case "/control/failing/off":
		failing = false
	case "/control/slow/on":
		slowOver = make(chan struct{})
	case "/control/slow/off":
		close(slowOver)
	}
	mutex.Unlock()
	for path == "/control/slow/off" {
		mutex.Lock()
		left := len(running)
		mutex.Unlock()
		if left == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/handled/"):
		mutex.Lock()
		count := effects[strings.TrimPrefix(r.URL.Path, "/handled/")]
		mutex.Unlock()
		_, _ = io.WriteString(w, strconv.Itoa(count))
	case strings.HasPrefix(r.URL.Path, "/control/"):
		control(r.URL.Path)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		if r.Header.Get("X-Webhook-Id") != "" {
			// A redirect in front turned a delivery into a GET.
			w.WriteHeader(409)
		} else {
			w.WriteHeader(200)
		}
	case r.Method != http.MethodPost:
		w.WriteHeader(405)
	default:
		w.WriteHeader(receive(r))
	}
}

func main() {
	address := "127.0.0.1:" + os.Getenv("PORT")
	log.Fatal(http.ListenAndServe(address, http.HandlerFunc(serve)))
}

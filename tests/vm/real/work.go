// SPDX-License-Identifier: GPL-2.0-only
//
// Goroutines with channels, a mutex, garbage, timers and a server of HTTP on the loopback device:
// work GO ROUNDS. One line for each round, until there were ROUNDS of them and the file GO is
// there.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

const workers = 50

func sum(text string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

// A ring of goroutines: each adds itself to what goes round.
func ring() (chan<- string, <-chan string) {
	first := make(chan string)
	in := first
	for n := 0; n < workers; n++ {
		out := make(chan string)
		go func(n int, in <-chan string, out chan<- string) {
			for text := range in {
				out <- sum(text + strconv.Itoa(n))
			}
		}(n, in, out)
		in = out
	}
	return first, in
}

func serve() string {
	asked := map[string]int{}
	var lock sync.Mutex
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		asked[r.URL.Path]++
		fmt.Fprintf(w, "%s %d", r.URL.Path, asked[r.URL.Path])
	}))
	return "http://" + listener.Addr().String()
}

// Each worker asks over a connection that is kept.
func ask(url string, n int) int {
	answer, err := http.Get(fmt.Sprintf("%s/%d", url, n))
	if err != nil {
		fmt.Println("no answer:", err)
		os.Exit(3)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		fmt.Println("half an answer:", err)
		os.Exit(4)
	}
	var path string
	var count int
	fmt.Sscanf(string(text), "%s %d", &path, &count)
	return count
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[2])
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 4
	begin, end := ring()
	url := serve()
	text := "begin"
	tick := time.NewTicker(50 * time.Millisecond)
	for round := 1; ; round++ {
		if _, err := os.Stat(os.Args[1]); err == nil && round > rounds {
			break
		}
		begin <- text
		text = <-end
		var counts [4]int
		var group sync.WaitGroup
		for n := range counts {
			group.Add(1)
			go func(n int) {
				defer group.Done()
				counts[n] = ask(url, n)
			}(n)
		}
		group.Wait()
		kept := make([][]byte, 100)
		for n := range kept {
			kept[n] = make([]byte, 10000)
		}
		fmt.Println(round, text, counts, len(kept))
		<-tick.C
	}
	fmt.Println("end")
}

// Sends text messages and reads their echoes on many connections. Prints the number of echoes.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

func main() {
	url := os.Args[1]
	connections, _ := strconv.Atoi(os.Args[2])
	seconds, _ := strconv.Atoi(os.Args[3])
	size, _ := strconv.Atoi(os.Args[4])
	text := []byte(strings.Repeat("x", size))
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	counts := make([]int, connections)
	var group sync.WaitGroup
	for i := 0; i < connections; i++ {
		connection, _, err := websocket.DefaultDialer.Dial(url, nil)
		if err != nil {
			panic(err)
		}
		group.Add(1)
		go func(i int) {
			defer group.Done()
			defer connection.Close()
			for time.Now().Before(end) {
				if err := connection.WriteMessage(websocket.TextMessage, text); err != nil {
					panic(err)
				}
				if _, _, err := connection.ReadMessage(); err != nil {
					panic(err)
				}
				counts[i]++
			}
		}(i)
	}
	group.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	fmt.Println("echoes", total)
}

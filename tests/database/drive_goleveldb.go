// Executes a script with goleveldb: see script.h and README.md.
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"
)

var lines []string
var at, repeatsFrom = 0, -1

func next() []string {
	if at == len(lines) && repeatsFrom >= 0 {
		at = repeatsFrom
	}
	if at == len(lines) {
		return nil
	}
	at++
	return strings.Fields(lines[at-1])
}

func bytesOf(word string) []byte {
	bytes, err := hex.DecodeString(word[1:])
	check(err)
	return bytes
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func set(options *opt.Options, name, value string) {
	switch name {
	case "block_size":
		options.BlockSize = number(value)
	case "block_restart_interval":
		options.BlockRestartInterval = number(value)
	case "write_buffer_size":
		options.WriteBuffer = number(value)
	case "table_size":
		options.CompactionTableSize = number(value)
	case "compression":
		options.Compression = opt.SnappyCompression
		if value == "none" {
			options.Compression = opt.NoCompression
		}
	case "filter_policy":
		options.Filter = filter.NewBloomFilter(10)
	}
}

func add(batch *leveldb.Batch, words []string) bool {
	switch words[0] {
	case "put":
		batch.Put(bytesOf(words[2]), bytesOf(words[3]))
	case "delete":
		batch.Delete(bytesOf(words[2]))
	default:
		return false
	}
	return true
}

func dump(db *leveldb.DB) {
	out := bufio.NewWriter(os.Stdout)
	found := db.NewIterator(nil, nil)
	for found.Next() {
		fmt.Fprintf(out, "%x:%x:%x\n", "default", found.Key(), found.Value())
	}
	check(found.Error())
	out.Flush()
}

func read(script *os.File) {
	scanner := bufio.NewScanner(script)
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		if scanner.Text() == "loop" {
			repeatsFrom = len(lines)
		} else if scanner.Text() != "" {
			lines = append(lines, scanner.Text())
		}
	}
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("goleveldb 0")
		return
	}
	directory := os.Args[1] + "/db"
	options := &opt.Options{CompactionTotalSize: 40 << 10}
	var db *leveldb.DB
	pair := 0
	read(os.Stdin)
	for words := next(); words != nil; words = next() {
		batch := new(leveldb.Batch)
		switch words[0] {
		case "set":
			set(options, words[2], words[3])
		case "say":
			fmt.Println(words[1])
		case "kill":
			os.Exit(0)
		case "open":
			if db != nil {
				check(db.Close())
			}
			var err error
			db, err = leveldb.OpenFile(directory, options)
			check(err)
		case "dump":
			dump(db)
		case "compact":
			var all util.Range
			if len(words) == 4 {
				all = util.Range{Start: bytesOf(words[2]), Limit: bytesOf(words[3])}
			}
			check(db.CompactRange(all))
		case "pair":
			batch.Put([]byte("pair/1"), []byte(strconv.Itoa(pair)))
			batch.Put([]byte("pair/2"), []byte(strconv.Itoa(pair)))
			pair++
			check(db.Write(batch, nil))
		case "batch":
			for left := number(words[1]); left > 0; left-- {
				add(batch, next())
			}
			check(db.Write(batch, nil))
		default:
			if !add(batch, words) {
				fmt.Fprintln(os.Stderr, words[0]+": unknown operation")
				os.Exit(1)
			}
			check(db.Write(batch, nil))
		}
	}
	if db != nil {
		check(db.Close())
	}
}

// Reads tables with other libraries than recordfs, and prints what differs from the rows that they should have.
//
// Each line of standard input is a file of expected rows (column_sets.py) and the tables, separated by tabs. Answers each
// line with one line: a JSON list of the differences. Packages: apache-arrow, hyparquet, hyparquet-compressors, fzstd,
// @duckdb/node-api.
import fs from 'fs'
import readline from 'readline'
import { tableFromIPC, compressionRegistry, CompressionType } from 'apache-arrow'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { DuckDBInstance } from '@duckdb/node-api'
import { decompress } from 'fzstd'

// The registry tries what `encode` returns: here a frame with one stored block of less than 256 bytes.
const storedFrame = d => Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, d.length, (d.length << 3 | 1) & 255, d.length >> 5, 0, ...d])
compressionRegistry.set(CompressionType.ZSTD, { decode: d => Uint8Array.from(decompress(d)), encode: storedFrame })

const duck = await (await DuckDBInstance.create(':memory:')).connect()
await duck.run('set threads = 1')

function double(x) {
  if (Number.isNaN(x)) return 'f:nan'
  const bits = Buffer.alloc(8)
  bits.writeDoubleBE(x)
  return 'f:' + bits.toString('hex')
}

// Returns a value as column_sets.py writes it. Numbers have the form of the expected value's kind.
function tagged(v, e) {
  if (v === null || v === undefined) return null
  if (Array.isArray(e)) return [...(v.items ?? v)].map((x, i) => tagged(x, e[i]))
  if (e && typeof e === 'object') {
    const members = v.entries && typeof v.entries === 'object' ? v.entries : v.toJSON ? v.toJSON() : v
    return Object.fromEntries(Object.entries(members).map(([name, x]) => [name, tagged(x, e[name])]))
  }
  if (typeof e === 'string' && e[0] === 'f') return double(Number(v))
  if (typeof e === 'string' && e[0] === 'i') return 'i:' + BigInt(v)
  if (typeof e === 'string' && e[0] === 's') return 's:' + v
  if (typeof e === 'string' && e[0] === 'b') return 'b:' + Buffer.from(v.bytes ?? v).toString('hex')
  return typeof v === 'boolean' ? v : '?' + v
}

function same(a, b) {
  if (a === b) return true
  if (!a || !b || typeof a !== 'object' || typeof b !== 'object' || Array.isArray(a) !== Array.isArray(b)) return false
  const names = Object.keys(b)
  return names.length === Object.keys(a).length && names.every(name => name in a && same(a[name], b[name]))
}

const READERS = {
  'apache-arrow': path => [...tableFromIPC(fs.readFileSync(path))].map(row => row.toJSON()),
  hyparquet: path => {
    const bytes = fs.readFileSync(path)
    return parquetReadObjects({ file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength), compressors, utf8: false })
  },
  DuckDB: async path => (await duck.runAndReadAll(`select * from read_parquet('${path}')`)).getRowObjects(),
}

async function compare(reader, path, expected) {
  try {
    const rows = await READERS[reader](path)
    if (rows.length !== expected.length) return `${rows.length} rows instead of ${expected.length}`
    for (let i = 0; i < rows.length; i++) {
      const got = tagged(rows[i], expected[i])
      if (!same(got, expected[i])) return `row ${i}: ${JSON.stringify(got)} instead of ${JSON.stringify(expected[i])}`
    }
    return ''
  } catch (error) {
    return String(error.stack)
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const [rows, ...tables] = line.split('\t')
  const expected = JSON.parse(fs.readFileSync(rows))
  const differences = []
  for (const path of tables) {
    for (const reader of path.endsWith('.parquet') ? ['hyparquet', 'DuckDB'] : ['apache-arrow']) {
      const difference = await compare(reader, path, expected)
      if (difference) differences.push(`${reader}: ${path}: ${difference.slice(0, 2000)}`)
    }
  }
  console.log(JSON.stringify(differences))
}

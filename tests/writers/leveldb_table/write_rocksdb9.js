// Writes rocksdb9-version-6.sst for tests/corpus/leveldb_table, a real table of RocksDB 9.7, and its expectation. Not part
// of the build. Needs Node and the npm package @nxtedition/rocksdb 12.2, which contains that RocksDB:
//
//   node write_rocksdb9.js FOLDER
const { RocksLevel } = require('@nxtedition/rocksdb')
const assert = require('node:assert')
const crypto = require('node:crypto')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const NAME = 'rocksdb9-version-6.sst'
const OPTIONS = { compression: false, blockSize: 512 }
const DELETE = 0n
const PUT = 1n

function varint(number) {
  const bytes = []
  for (; number >= 0x80; number = Math.floor(number / 0x80)) bytes.push(number % 0x80 + 0x80)
  return Buffer.from([...bytes, number])
}

function record(entry) {
  const tag = Buffer.alloc(8)
  tag.writeBigUInt64LE(BigInt(entry.sequence) << 8n | entry.kind)
  const key = Buffer.concat([Buffer.from(entry.key), tag])
  return Buffer.concat([varint(key.length), key, varint(entry.value.length), Buffer.from(entry.value)])
}

const sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex')

// The content of a table after all changes: the last value of each key.
async function fill(db) {
  const entries = []
  let sequence = 0
  for (let i = 0; i < 80; ++i) {
    const key = 'key' + String(i).padStart(5, '0')
    const value = `value of ${i} `.repeat(3 + i % 5)
    await db.put(key, value)
    entries.push({ key, sequence: ++sequence, kind: PUT, value })
    if (i % 7 !== 0) continue
    await db.del(key)
    entries[entries.length - 1] = { key, sequence: ++sequence, kind: DELETE, value: '' }
  }
  return entries
}

async function main(target) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'write_rocksdb9-'))
  let db = new RocksLevel(folder)
  await db.open({ createIfMissing: true, ...OPTIONS })
  const entries = await fill(db)
  await db.close()
  db = new RocksLevel(folder) // converts its log to a table
  await db.open(OPTIONS)
  const live = []
  for await (const [key, value] of db.iterator()) live.push([key, value])
  assert.deepStrictEqual(live, entries.filter((one) => one.kind === PUT).map((one) => [one.key, one.value]))
  await db.close()
  const tables = fs.readdirSync(folder).filter((name) => name.endsWith('.sst'))
  assert.strictEqual(tables.length, 1)
  const bytes = fs.readFileSync(path.join(folder, tables[0]))
  fs.rmSync(folder, { recursive: true })

  const records = entries.map(record)
  const stream = records.flatMap((one) => {
    const size = Buffer.alloc(8)
    size.writeBigUInt64LE(BigInt(one.length))
    return [size, one]
  })
  const want = {
    file: NAME, format: 'leveldb-table', producer: 'RocksDB 9.7', file_size: bytes.length, num_records: records.length,
    stream_sha256: sha256(Buffer.concat(stream)),
    sample: [0, records.length >> 1, records.length - 1].map(
      (i) => ({ ordinal: i, size: records[i].length, sha256: sha256(records[i]) })),
    damaged: false, end_tells: true
  }
  fs.writeFileSync(path.join(target, NAME), bytes)
  fs.writeFileSync(path.join(target, NAME + '.expect.json'), JSON.stringify(want) + '\n')
}

main(process.argv[2])

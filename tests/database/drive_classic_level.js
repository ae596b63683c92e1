#!/usr/bin/env node
// Executes a script with classic-level, which has LevelDB: see script.h and README.md. NODE_PATH names its folder.
const fs = require('fs');
const {ClassicLevel} = require('classic-level');

const bytesOf = word => Buffer.from(word.slice(1), 'hex');

function written(words) {
  const key = bytesOf(words[2]);
  if (words[0] === 'put') return {type: 'put', key, value: bytesOf(words[3])};
  if (words[0] === 'delete') return {type: 'del', key};
  throw new Error(`${words[0]}: unknown operation`);
}

const names = {block_size: 'blockSize', write_buffer_size: 'writeBufferSize'};

async function dump(db) {
  for await (const [key, value] of db.iterator())
    fs.writeSync(1, `${Buffer.from('default').toString('hex')}:${key.toString('hex')}:${value.toString('hex')}\n`);
}

async function run(folder) {
  const settings = {keyEncoding: 'buffer', valueEncoding: 'buffer'};
  const lines = fs.readFileSync(0, 'utf8').split('\n').filter(line => line);
  const repeatsFrom = lines.indexOf('loop');
  let db, pair = 0;
  for (let at = 0; at < lines.length || repeatsFrom >= 0; ++at) {
    if (at === lines.length) at = repeatsFrom;
    const words = lines[at].split(' ');
    if (words[0] === 'loop') continue;
    if (words[0] === 'set') {
      if (words[2] === 'compression') settings.compression = words[3] !== 'none';
      else settings[names[words[2]]] = Number(words[3]);
    } else if (words[0] === 'open') {
      if (db) await db.close();
      db = new ClassicLevel(`${folder}/db`, settings);
      await db.open();
    } else if (words[0] === 'dump') {
      await dump(db);
    } else if (words[0] === 'compact') {
      const [from, to] = words.length < 4 ? [Buffer.alloc(0), Buffer.alloc(64, 255)] : words.slice(2).map(bytesOf);
      await db.compactRange(from, to);
    } else if (words[0] === 'say') {
      fs.writeSync(1, words[1] + '\n');
    } else if (words[0] === 'kill') {
      process.exit(0);
    } else if (words[0] === 'pair') {
      const value = Buffer.from(String(pair++));
      await db.batch(['pair/1', 'pair/2'].map(key => ({type: 'put', key: Buffer.from(key), value})));
    } else if (words[0] === 'batch') {
      const count = Number(words[1]);
      await db.batch(lines.slice(at + 1, at + 1 + count).map(line => written(line.split(' '))));
      at += count;
    } else {
      await db.batch([written(words)]);
    }
  }
  if (db) await db.close();
}

if (process.argv[2] === '--version') {
  console.log('classic-level ' + require('classic-level/package.json').version);
} else {
  run(process.argv[2]).catch(error => {
    console.error(error.message);
    process.exit(1);
  });
}

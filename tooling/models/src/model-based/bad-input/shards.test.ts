import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { memoryShards, sqliteShards } from '@looseleaf/driver-sqlite'
import { shardsFrom } from 'looseleaf'
import { MARKER, refuses, type Case } from './refusals.ts'

type Untyped = (...arguments_: readonly unknown[]) => unknown
const memory = memoryShards as unknown as Untyped
const sqlite = sqliteShards as unknown as Untyped
const mysql = mysqlShards as unknown as Untyped
const from = shardsFrom as unknown as Untyped

const folder = join(tmpdir(), `looseleaf-${MARKER}`)
const url = `mysql://app:${MARKER}@127.0.0.1:3306/feed`
const target = { password: MARKER, database: 'feed' }

refuses('memoryShards', [
  ['0', () => memory(0), 'BAD_OPTION', /shards.* has to be a whole number from 1 to 1,?024/],
  ['-1', () => memory(-1), 'BAD_OPTION', /shards/],
  ['1.5', () => memory(1.5), 'BAD_OPTION', /shards/],
  ['1,025', () => memory(1025), 'BAD_OPTION', /shards/],
  ['NaN', () => memory(Number.NaN), 'BAD_OPTION', /shards.*NaN/],
  ['infinity', () => memory(Infinity), 'BAD_OPTION', /shards.*Infinity/],
  ['digits', () => memory('2'), 'BAD_OPTION', /shards.*a string/],
  ['a bigint', () => memory(2n), 'BAD_OPTION', /shards.*a bigint/],
  ['null', () => memory(null), 'BAD_OPTION', /shards.*null/],
  ['options', () => memory({ shards: 2 }), 'BAD_OPTION', /shards.*an object/],
  ['an array', () => memory([2]), 'BAD_OPTION', /shards.*an array/],
  ['true', () => memory(true), 'BAD_OPTION', /shards.*a boolean/],
])

refuses('sqliteShards', [
  ['no options', () => sqlite(), 'BAD_OPTION', /options as an object; got nothing/],
  ['options of null', () => sqlite(null), 'BAD_OPTION', /options as an object; got null/],
  ['no folder', () => sqlite({}), 'BAD_OPTION', /takes { folder }, the path of a folder; got nothing/],
  ['a folder for options', () => sqlite(folder), 'BAD_OPTION', /option/],
  ['an empty folder', () => sqlite({ folder: '' }), 'BAD_OPTION', /folder.*a string of 0/],
  ['a folder of null', () => sqlite({ folder: null }), 'BAD_OPTION', /folder.*null/],
  ['a folder with NUL', () => sqlite({ folder: `${folder}\0` }), 'BAD_OPTION', /folder/],
  [
    'a URL for a folder',
    () => sqlite({ folder: new URL(`file://${folder}`) }),
    'BAD_OPTION',
    /folder.*class URL/,
  ],
  ['bytes for a folder', () => sqlite({ folder: Buffer.from(folder) }), 'BAD_OPTION', /folder.*bytes/],
  ['0 shards', () => sqlite({ folder, shards: 0 }), 'BAD_OPTION', /shards of sqliteShards has to be/],
  ['1,025 shards', () => sqlite({ folder, shards: 1025 }), 'BAD_OPTION', /shards of sqliteShards has to be/],
  ['shards in digits', () => sqlite({ folder, shards: '2' }), 'BAD_OPTION', /shards.*a string/],
  [
    'a misspelt option',
    () => sqlite({ folder, shard: 2 }),
    'BAD_OPTION',
    /no option "shard"; there are folder, shards/,
  ],
  [
    'an option of another driver',
    () => sqlite({ folder, poolSize: 2 }),
    'BAD_OPTION',
    /no option "poolSize"/,
  ],
  [
    'a durability that there is not',
    () => sqlite({ folder, durability: 'off' }),
    'BAD_OPTION',
    /durability of sqliteShards has to be 'full' or 'normal'/,
  ],
  [
    'a durability of false',
    () => sqlite({ folder, durability: false }),
    'BAD_OPTION',
    /durability.*a boolean/,
  ],
  [
    'a deadline of 0',
    () => sqlite({ folder, deadlineMs: 0 }),
    'BAD_OPTION',
    /deadlineMs of sqliteShards has to be/,
  ],
  ['a deadline of -1', () => sqlite({ folder, deadlineMs: -1 }), 'BAD_OPTION', /deadlineMs/],
  ['a deadline of NaN', () => sqlite({ folder, deadlineMs: Number.NaN }), 'BAD_OPTION', /deadlineMs.*NaN/],
  [
    'a deadline without end',
    () => sqlite({ folder, deadlineMs: Infinity }),
    'BAD_OPTION',
    /deadlineMs.*Infinity/,
  ],
  ['a deadline in words', () => sqlite({ folder, deadlineMs: '5 s' }), 'BAD_OPTION', /deadlineMs.*a string/],
  ['a table with a space', () => sqlite({ folder, entityTable: 'my entities' }), 'BAD_OPTION', /entityTable/],
  [
    'a table with a statement',
    () => sqlite({ folder, entityTable: 'a`; DROP TABLE b' }),
    'BAD_OPTION',
    /entityTable/,
  ],
  ['a table without a name', () => sqlite({ folder, entityTable: '' }), 'BAD_OPTION', /entityTable/],
  ['a table that is no string', () => sqlite({ folder, entityTable: 5 }), 'BAD_OPTION', /entityTable/],
  [
    'a table of the catalog',
    () => sqlite({ folder, entityTable: 'looseleaf_meta' }),
    'BAD_OPTION',
    /entityTable/,
  ],
])

/** URLs that name no shard. The message gives the position of the URL and never its text. */
const urls: readonly (readonly [what: string, url: unknown, names: RegExp])[] = [
  ['an empty string', '', /shard 1 is not a URL/],
  ['a host', 'localhost', /shard 1 is not a URL/],
  ['host and port', 'localhost:3306', /shard 1 /],
  ['a name of a user and a host', `app:${MARKER}@localhost/feed`, /shard 1 /],
  ['a URL of another database', `postgres://app:${MARKER}@localhost/feed`, /shard 1 has to begin with mysql/],
  ['an https URL', `https://app:${MARKER}@localhost/feed`, /shard 1 has to begin with mysql/],
  ['no database', `mysql://app:${MARKER}@localhost`, /shard 1 has to name one database/],
  ['an empty database', `mysql://app:${MARKER}@localhost/`, /shard 1 has to name one database/],
  ['two databases', `mysql://app:${MARKER}@localhost/feed/other`, /shard 1 has to name one database/],
  [
    'a parameter',
    `mysql://app:${MARKER}@localhost/feed?ssl=true`,
    /shard 1 may have \?tls=true or \?tls=false after the database, and nothing else/,
  ],
  ['a fragment', `mysql://app:${MARKER}@localhost/feed#x`, /shard 1 has a #/],
  [
    'a password with a bare %',
    `mysql://app:${MARKER}%@localhost/feed`,
    /shard 1 has a password in which a %/,
  ],
  ['a user with a bare %', `mysql://ap%p:${MARKER}@localhost/feed`, /shard 1 has a user in which a %/],
  [
    'a database with a bare %',
    `mysql://app:${MARKER}@localhost/fe%ed`,
    /shard 1 has a database in which a %/,
  ],
  ['a password with a #', `mysql://app:${MARKER}#x@localhost/feed`, /shard 1 /],
  ['a password with a slash', `mysql://app:${MARKER}/x@localhost/feed`, /shard 1 /],
  ['port 70000', `mysql://app:${MARKER}@localhost:70000/feed`, /shard 1 /],
  ['port 0', `mysql://app:${MARKER}@localhost:0/feed`, /shard 1 has a port/],
  ['a port in letters', `mysql://app:${MARKER}@localhost:abc/feed`, /shard 1 is not a URL/],
  [
    'a database of 65 characters',
    `mysql://app:${MARKER}@localhost/${'x'.repeat(65)}`,
    /shard 1 has to have a database of 1 to 64/,
  ],
  ['a database with NUL', `mysql://app:${MARKER}@localhost/a%00b`, /shard 1 has to have a database/],
  ['null', null, /shard 1 has to be a URL.*null/],
  ['a number', 3306, /shard 1 has to be a URL.*a number/],
  ['a list', [url], /shard 1 /],
  ['options without a database', { password: MARKER }, /shard 1 has to have a database.*nothing/],
  ['options of null for a database', { ...target, database: null }, /shard 1 has to have a database.*null/],
  ['options with an empty host', { ...target, host: '' }, /shard 1 has to have a host/],
  ['options with a number for a host', { ...target, host: 127 }, /shard 1 has to have a host.*a number/],
  ['options with an empty user', { ...target, user: '' }, /shard 1 has to have a user/],
  ['options with a port in digits', { ...target, port: '3306' }, /shard 1 has a port.*a string/],
  ['options with port -1', { ...target, port: -1 }, /shard 1 has a port/],
  [
    'options with a number for a password',
    { ...target, password: 5 },
    /shard 1 has to have a password that is a string.*got a number/,
  ],
  [
    'options with bytes for a password',
    { ...target, password: Buffer.from(MARKER) },
    /shard 1 has to have a password that is a string.*got \d+ bytes/,
  ],
  ['options with an empty socket', { ...target, socketPath: '' }, /shard 1 has to have a socketPath/],
  ['options with a misspelt name', { ...target, passwd: MARKER }, /shard 1 has no option "passwd"/],
  ['options with a URL', { ...target, url }, /shard 1 has no option "url"/],
  ['options with ssl', { ...target, ssl: true }, /shard 1 has no option "ssl"/],
  ['options with tls in words', { ...target, tls: 'required' }, /shard 1 has tls that is a string/],
  ['options with tls in an array', { ...target, tls: [] }, /shard 1 has tls that is an array/],
  [
    'options with a number for a certificate',
    { ...target, tls: { ca: 5 } },
    /shard 1 has to have PEM for ca under tls.*a number/,
  ],
  ['options with tls of 1', { ...target, tls: 1 }, /shard 1 has tls that is a number/],
  [
    'options with an unknown tls option',
    { ...target, tls: { rejectUnauthorized: false } },
    /shard 1 has no option "rejectUnauthorized" under tls/,
  ],
]

refuses(
  'shards of mysqlShards',
  urls.map(([what, bad, names]): Case => [
    what,
    () => mysql(['mysql://127.0.0.1/first', bad]),
    'BAD_OPTION',
    names,
  ]),
)

refuses('options of mysqlShards', [
  ['no shards', () => mysql(), 'BAD_OPTION', /list of at least one URL; got nothing/],
  ['one URL', () => mysql(url), 'BAD_OPTION', /list of at least one URL; got a string/],
  ['an empty list', () => mysql([]), 'BAD_OPTION', /list of at least one URL/],
  ['null', () => mysql(null), 'BAD_OPTION', /list of at least one URL; got null/],
  ['one shard twice', () => mysql([url, url]), 'BAD_OPTION', /shard 1 is the same database as MySQL shard 0/],
  [
    'one shard twice, by other users',
    () => mysql([url, `mysql://other:${MARKER}@127.0.0.1:3306/feed`]),
    'BAD_OPTION',
    /shard 1 is the same database/,
  ],
  [
    'one shard twice, its host in two spellings',
    () => mysql(['mysql://h/d', 'mysql://H/d']),
    'BAD_OPTION',
    /shard 1 is the same database/,
  ],
  [
    'a hole in the list',
    () => mysql(Object.assign([], { 1: url })),
    'BAD_OPTION',
    /shard 0 has to be a URL.*got nothing/,
  ],
  ['options of null', () => mysql([url], null), 'BAD_OPTION', /options as an object; got null/],
  ['options in words', () => mysql([url], MARKER), 'BAD_OPTION', /options as an object; got a string/],
  ['options in an array', () => mysql([url], []), 'BAD_OPTION', /options as an object; got an array/],
  ['a misspelt option', () => mysql([url], { poolsize: 5 }), 'BAD_OPTION', /no option "poolsize"/],
  [
    'an option of mysql2',
    () => mysql([url], { connectionLimit: 5 }),
    'BAD_OPTION',
    /no option "connectionLimit"/,
  ],
  ['a pool of 0', () => mysql([url], { poolSize: 0 }), 'BAD_OPTION', /poolSize/],
  ['a pool of 1.5', () => mysql([url], { poolSize: 1.5 }), 'BAD_OPTION', /poolSize/],
  ['a pool of 1,000,000', () => mysql([url], { poolSize: 1_000_000 }), 'BAD_OPTION', /poolSize/],
  ['a pool in digits', () => mysql([url], { poolSize: '10' }), 'BAD_OPTION', /poolSize.*a string/],
  ['a deadline of 0', () => mysql([url], { deadlineMs: 0 }), 'BAD_OPTION', /deadlineMs/],
  [
    'a deadline without end',
    () => mysql([url], { deadlineMs: Infinity }),
    'BAD_OPTION',
    /deadlineMs.*Infinity/,
  ],
  ['a deadline of NaN', () => mysql([url], { deadlineMs: Number.NaN }), 'BAD_OPTION', /deadlineMs.*NaN/],
  ['a connect timeout of -1', () => mysql([url], { connectTimeoutMs: -1 }), 'BAD_OPTION', /connectTimeoutMs/],
  [
    'a lock wait of half a second',
    () => mysql([url], { lockWaitSeconds: 0.5 }),
    'BAD_OPTION',
    /lockWaitSeconds/,
  ],
  ['an idle time of 0', () => mysql([url], { idleMs: 0 }), 'BAD_OPTION', /idleMs/],
  ['tls in words', () => mysql([url], { tls: 'on' }), 'BAD_OPTION', /shard 0 has tls that is a string/],
  [
    'an unknown tls option',
    () => mysql([url], { tls: { servername: MARKER } }),
    'BAD_OPTION',
    /no option "servername" under tls/,
  ],
  [
    'a table with a statement',
    () => mysql([url], { entityTable: 'a`; DROP TABLE b' }),
    'BAD_OPTION',
    /entityTable/,
  ],
  ['a table that is no string', () => mysql([url], { entityTable: {} }), 'BAD_OPTION', /entityTable/],
])

refuses('shardsFrom', [
  ['nothing', () => from(), 'BAD_OPTION', /Shards are given as/],
  ['null', () => from(null), 'BAD_OPTION', /Shards are given as/],
  ['a number', () => from(2), 'BAD_OPTION', /Shards are given as/],
  ['a list', () => from([url]), 'BAD_OPTION', /Shards are given as/],
  ['shards', () => from(memoryShards(1)), 'BAD_OPTION', /Shards are given as/],
  ['an empty text', () => from(''), 'BAD_OPTION', /Shards are given as/],
  ['spaces', () => from('  '), 'BAD_OPTION', /Shards are given as/],
  ['a password', () => from(MARKER), 'BAD_OPTION', /Shards are given as/],
  ['a folder', () => from(folder), 'BAD_OPTION', /Shards are given as/],
  ['another database', () => from(`postgres://app:${MARKER}@localhost/feed`), 'BAD_OPTION', /mysql:/],
  ['options of null', () => from('sqlite:x', null), 'BAD_OPTION', /options as an object; got null/],
  ['options in words', () => from('sqlite:x', MARKER), 'BAD_OPTION', /options as an object; got a string/],
  ['a misspelt option', () => from('sqlite:x', { relative: 'y' }), 'BAD_OPTION', /no option "relative"/],
  [
    'a number to begin from',
    () => from('sqlite:x', { relativeTo: 5 }),
    'BAD_OPTION',
    /relativeTo of shardsFrom has to be the path of a folder; got 5/,
  ],
  ['memory: with no number', () => from('memory:two'), 'BAD_OPTION', /memory: needs a number/],
  ['memory:0', () => from('memory:0'), 'BAD_OPTION', /memory: needs a number/],
  ['memory:-1', () => from('memory:-1'), 'BAD_OPTION', /memory: needs a number/],
  ['memory:1e3', () => from('memory:1e3'), 'BAD_OPTION', /memory: needs a number/],
  ['memory: with too many', () => from('memory:99999'), 'BAD_OPTION', /from 1 to 1024/],
  ['sqlite: without a folder', () => from('sqlite:'), 'BAD_OPTION', /sqlite: needs the folder/],
  [
    'sqlite: with a parameter alone',
    () => from('sqlite:?shards=2'),
    'BAD_OPTION',
    /sqlite: needs the folder/,
  ],
  [
    'sqlite: with another parameter',
    () => from(`sqlite:${folder}?password=${MARKER}`),
    'BAD_OPTION',
    /sqlite: takes one parameter/,
  ],
  [
    'sqlite: with no shards',
    () => from(`sqlite:${folder}?shards=`),
    'BAD_OPTION',
    /needs a number of shards/,
  ],
  [
    'sqlite: with half a shard',
    () => from(`sqlite:${folder}?shards=0.5`),
    'BAD_OPTION',
    /needs a number of shards/,
  ],
  ['sqlite: with NUL', () => from(`sqlite:${folder}\0?shards=2`), 'BAD_OPTION', /folder/],
  [
    'a URL without a database',
    () => from(`mysql://app:${MARKER}@localhost`),
    'BAD_OPTION',
    /shard 0 has to name one database/,
  ],
  ['a URL with a comma behind it', () => from(`${url},`), 'BAD_OPTION', /shard|comma/],
  ['a URL and a folder', () => from(`${url},sqlite://${folder}`), 'BAD_OPTION', /number 1 of the list/],
  [
    'a URL and another database',
    () => from(`${url},postgres://app:${MARKER}@localhost/feed`),
    'BAD_OPTION',
    /number 1 of the list/,
  ],
  ['one URL twice', () => from(`${url},${url}`), 'BAD_OPTION', /shard 1 is the same database/],
])

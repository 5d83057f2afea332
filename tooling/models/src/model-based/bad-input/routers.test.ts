import { bucketOfId, bucketRouter, evenBuckets, moduloRouter } from '@looseleaf/router'
import { formatId } from '@looseleaf/core'
import { MARKER, refuses } from './refusals.ts'

type Untyped = (...arguments_: readonly unknown[]) => unknown
const buckets = bucketRouter as unknown as Untyped
const modulo = moduloRouter as unknown as Untyped
const even = evenBuckets as unknown as Untyped
const bucket = bucketOfId as unknown as Untyped
const format = formatId as unknown as Untyped

/** A router without its types, as JavaScript can call it. */
const two = bucketRouter({ shards: 2 }) as unknown as Record<'shardOfId' | 'shardOfKey' | 'newId', Untyped>
const three = moduloRouter({ shards: 3 }) as unknown as typeof two
const map = [...evenBuckets(2)]

refuses('options of bucketRouter', [
  [
    'a misspelt option',
    () => buckets({ shards: 2, bucket: [] }),
    'BAD_OPTION',
    /bucketRouter has no option "bucket"; there are .*buckets/,
  ],
  ['nothing', () => buckets(), 'BAD_OPTION', /Router takes options.*nothing/],
  ['null', () => buckets(null), 'BAD_OPTION', /Router takes options.*null/],
  ['a number', () => buckets(2), 'BAD_OPTION', /Router takes options.*a number/],
  ['an array', () => buckets([2]), 'BAD_OPTION', /Router takes options.*an array/],
  ['no shards', () => buckets({}), 'BAD_OPTION', /shards.*1 to 4096; got nothing/],
  ['0 shards', () => buckets({ shards: 0 }), 'BAD_OPTION', /shards.*got 0/],
  ['-1 shards', () => buckets({ shards: -1 }), 'BAD_OPTION', /shards.*got -1/],
  ['1.5 shards', () => buckets({ shards: 1.5 }), 'BAD_OPTION', /shards.*got 1.5/],
  ['4,097 shards', () => buckets({ shards: 4097 }), 'BAD_OPTION', /shards.*got 4097/],
  ['NaN shards', () => buckets({ shards: Number.NaN }), 'BAD_OPTION', /shards.*got NaN/],
  ['shards in digits', () => buckets({ shards: '2' }), 'BAD_OPTION', /shards.*a string/],
  ['a bigint of shards', () => buckets({ shards: 2n }), 'BAD_OPTION', /shards.*a bigint/],
  ['null shards', () => buckets({ shards: null }), 'BAD_OPTION', /shards.*null/],
  ['a list of shards', () => buckets({ shards: [MARKER] }), 'BAD_OPTION', /shards.*an array/],
  ['a map of null', () => buckets({ shards: 2, buckets: null }), 'BAD_OPTION', /bucket map.*null/],
  [
    'an empty map',
    () => buckets({ shards: 2, buckets: [] }),
    'BAD_OPTION',
    /bucket map has to be an array of 4096.*0 elements/,
  ],
  [
    'a map with a bucket too few',
    () => buckets({ shards: 2, buckets: map.slice(1) }),
    'BAD_OPTION',
    /4,095 elements/,
  ],
  [
    'a map with a bucket too many',
    () => buckets({ shards: 2, buckets: [...map, 0] }),
    'BAD_OPTION',
    /4,097 elements/,
  ],
  [
    'a map with a hole',
    () => buckets({ shards: 2, buckets: Object.assign(Array(4096), { 0: 0 }) }),
    'BAD_OPTION',
    /Bucket 1 of a bucket map.*nothing/,
  ],
  [
    'a map to a shard that there is not',
    () => buckets({ shards: 2, buckets: map.with(7, 2) }),
    'BAD_OPTION',
    /Bucket 7 of a bucket map.*0 to 1; got 2/,
  ],
  [
    'a map to shard -1',
    () => buckets({ shards: 2, buckets: map.with(0, -1) }),
    'BAD_OPTION',
    /Bucket 0.*got -1/,
  ],
  [
    'a map to half a shard',
    () => buckets({ shards: 2, buckets: map.with(4095, 0.5) }),
    'BAD_OPTION',
    /Bucket 4095.*got 0.5/,
  ],
  [
    'a map with names',
    () => buckets({ shards: 2, buckets: (map as unknown[]).with(1, MARKER) }),
    'BAD_OPTION',
    /Bucket 1.*a string/,
  ],
  [
    'a map of bytes',
    () => buckets({ shards: 2, buckets: new Uint8Array(4096) }),
    'BAD_OPTION',
    /bucket map.*4,096 bytes/,
  ],
  ['a map in a Map', () => buckets({ shards: 2, buckets: new Map() }), 'BAD_OPTION', /bucket map.*class Map/],
  [
    'a function that gives nothing',
    () => buckets({ shards: 2, buckets: () => {} }),
    'BAD_OPTION',
    /Bucket 0.*nothing/,
  ],
  [
    'a function that gives names',
    () => buckets({ shards: 2, buckets: () => MARKER }),
    'BAD_OPTION',
    /Bucket 0.*a string/,
  ],
  [
    'a function that gives the bucket',
    () => buckets({ shards: 2, buckets: (n: number) => n }),
    'BAD_OPTION',
    /Bucket 2.*got 2/,
  ],
  [
    'a time of null',
    () => buckets({ shards: 2, time: null }),
    'BAD_OPTION',
    /time of (bucket|modulo)Router.*null/,
  ],
  [
    'a time in milliseconds',
    () => buckets({ shards: 2, time: 5 }),
    'BAD_OPTION',
    /time of (bucket|modulo)Router.*got 5/,
  ],
  [
    'a Date for the time',
    () => buckets({ shards: 2, time: new Date() }),
    'BAD_OPTION',
    /time of (bucket|modulo)Router.*a Date/,
  ],
])

refuses('options of moduloRouter', [
  [
    'a misspelt option',
    () => modulo({ shards: 2, bucket: [] }),
    'BAD_OPTION',
    /moduloRouter has no option "bucket"; there are shards, time/,
  ],
  ['nothing', () => modulo(), 'BAD_OPTION', /Router takes options.*nothing/],
  ['null', () => modulo(null), 'BAD_OPTION', /Router takes options.*null/],
  ['a number', () => modulo(2), 'BAD_OPTION', /Router takes options.*a number/],
  ['0 shards', () => modulo({ shards: 0 }), 'BAD_OPTION', /shards.*got 0/],
  ['4,097 shards', () => modulo({ shards: 4097 }), 'BAD_OPTION', /shards.*got 4097/],
  ['shards in digits', () => modulo({ shards: '2' }), 'BAD_OPTION', /shards.*a string/],
  ['infinite shards', () => modulo({ shards: Infinity }), 'BAD_OPTION', /shards.*got Infinity/],
  [
    'a time that tells nothing',
    () => modulo({ shards: 2, time: {} }),
    'BAD_OPTION',
    /time of (bucket|modulo)Router.*an object/,
  ],
])

refuses('bucket maps', [
  ['an even map for no shards', () => even(), 'BAD_OPTION', /shards.*nothing/],
  ['an even map for 0 shards', () => even(0), 'BAD_OPTION', /shards.*got 0/],
  ['an even map for 5,000 shards', () => even(5000), 'BAD_OPTION', /shards.*got 5000/],
])

refuses('ids and keys to route by', [
  ['no id', () => two.shardOfId(), 'BAD_ID', /16 bytes here; got nothing/],
  ['an id of null', () => two.shardOfId(null), 'BAD_ID', /16 bytes here; got null/],
  [
    'an id as a string',
    () => two.shardOfId('0192f0c1-7c1e-7abc-8def-0123456789ab'),
    'BAD_ID',
    /16 bytes here; got a string/,
  ],
  ['15 bytes', () => two.shardOfId(new Uint8Array(15)), 'BAD_ID', /16 bytes here; got 15 bytes/],
  ['17 bytes', () => two.shardOfId(new Uint8Array(17)), 'BAD_ID', /16 bytes here; got 17 bytes/],
  ['16 numbers', () => two.shardOfId(Array(16).fill(0)), 'BAD_ID', /16 bytes here; got an array/],
  [
    '16 larger numbers',
    () => two.shardOfId(new Uint16Array(16)),
    'BAD_ID',
    /16 bytes here; got an object of class Uint16Array/,
  ],
  [
    'an ArrayBuffer',
    () => two.shardOfId(new ArrayBuffer(16)),
    'BAD_ID',
    /16 bytes here; got an object of class ArrayBuffer/,
  ],
  ['15 bytes, modulo', () => three.shardOfId(new Uint8Array(15)), 'BAD_ID', /16 bytes here; got 15 bytes/],
  ['a string, modulo', () => three.shardOfId(MARKER), 'BAD_ID', /16 bytes here; got a string/],
  ['no bytes for the bucket', () => bucket(5), 'BAD_ID', /16 bytes here; got a number/],
  ['an id near a string', () => two.newId(MARKER), 'BAD_ID', /16 bytes here; got a string/],
  ['an id near null', () => two.newId(null), 'BAD_ID', /16 bytes here; got null/],
  [
    'an id near 3 bytes, modulo',
    () => three.newId(new Uint8Array(3)),
    'BAD_ID',
    /16 bytes here; got 3 bytes/,
  ],
  ['no key', () => two.shardOfKey(), 'BAD_OPTION', /key to route by has to be bytes; got nothing/],
  [
    'a key as a string',
    () => two.shardOfKey(MARKER),
    'BAD_OPTION',
    /key to route by has to be bytes; got a string/,
  ],
  [
    'a key as a number',
    () => two.shardOfKey(5),
    'BAD_OPTION',
    /key to route by has to be bytes; got a number/,
  ],
  [
    'a key as an array',
    () => three.shardOfKey([1, 2]),
    'BAD_OPTION',
    /key to route by has to be bytes; got an array/,
  ],
  [
    'a key of null, modulo',
    () => three.shardOfKey(null),
    'BAD_OPTION',
    /key to route by has to be bytes; got null/,
  ],
  ['nothing to write as an id', () => format(), 'BAD_ID', /16 bytes; got nothing/],
  ['a string to write as an id', () => format('0123456789abcdef'), 'BAD_ID', /16 bytes; got a string/],
  ['17 bytes to write as an id', () => format(new Uint8Array(17)), 'BAD_ID', /16 bytes; got 17 bytes/],
])

import { jsonFormat } from '@looseleaf/codec'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { bucketRouter } from '@looseleaf/router'
import fc from 'fast-check'
import { alphabets } from '../values.ts'
import { byAge, byName, byTag, MARKER } from './refusals.ts'

/** Pieces of valid input, so that mistakes lie deeper in it. */
const pieces: readonly unknown[] = [
  MARKER,
  '0192f0c1-7c1e-7abc-8def-0123456789ab',
  '3f333df6-90a4-4fda-8dd3-9485d27cee36',
  byAge,
  byName,
  byTag,
  { ...byAge, name: 'another' },
  { age: 5 },
  { name: MARKER, age: 5, score: 1 },
  { tags: [MARKER] },
  { age: { gt: 1 } },
  { scatter: true },
  { scatter: true, limit: 1 },
  { id: '3f333df6-90a4-4fda-8dd3-9485d27cee36' },
  { ifVersion: 0 },
  { signal: AbortSignal.abort() },
  { properties: { age: 'integer' }, shardOn: 'id' },
  { shards: 2 },
  { shards: memoryShards(1), migrate: true },
  'mysql://127.0.0.1/feed',
  'memory:2',
  (bag: unknown) => bag,
  () => null,
  () => MARKER,
  Symbol(MARKER),
  new AbortController().signal,
  bucketRouter({ shards: 2 }),
  jsonFormat,
  new Map([[MARKER, MARKER]]),
  new Proxy({}, {}),
  Object.freeze([Object.freeze({})]),
  Object.create({ inherited: MARKER }),
  // An object whose class has only a name.
  Object.create({ constructor: { name: Symbol(MARKER) } }),
  Object.create({ constructor: null }),
  ...Object.values(alphabets).flat(),
]

const names = fc.constantFrom(
  'id',
  'name',
  'age',
  'tags',
  'score',
  'limit',
  'order',
  'cursor',
  'scatter',
  'signal',
  'ifVersion',
  'near',
  'properties',
  'shardOn',
  'shards',
  'gt',
  'lte',
  '__proto__',
  'constructor',
  'toString',
  'length',
  '0',
  '',
)

const piece = fc.constantFrom(...pieces)
const value = fc.anything({
  key: fc.oneof(names, fc.string()),
  values: [piece, piece, fc.anything()],
  maxDepth: 3,
  maxKeys: 4,
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  stringUnit: 'binary',
})

/** Any JavaScript value. */
export const anything: fc.Arbitrary<unknown> = fc.oneof(piece, value)

/** Arguments of a call. */
export const anyArguments: fc.Arbitrary<unknown[]> = fc.array(anything, { maxLength: 3 })

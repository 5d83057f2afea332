import { createHash } from 'node:crypto'
import { encodeCursor, planQuery } from '@looseleaf/index-engine/internal'
import { byAge, byName, byScore, MARKER, refuses, type Case, type Fixture } from './refusals.ts'

const all = { scatter: true }

/** Returns a cursor in the form of an earlier query. */
function cursorOf(
  { typed }: Fixture,
  index = byName,
  where: object = {},
  order: 'asc' | 'desc' = 'asc',
): string {
  const catalog = typed.context.catalog.current()
  const entry = catalog.indexes.find(({ name }) => name === index.name)!
  const plan = planQuery(entry, where, { ...all, order }, catalog.placement)
  const key = index === byName ? [Buffer.from(MARKER), 5n, 1.5] : [index === byAge ? 5n : 1.5]
  return encodeCursor(plan.scope, { key, entityId: Buffer.alloc(16), backward: false, inclusive: false })
}

/** Returns the cursor with changed bytes and a valid checksum. */
function forged(on: Fixture, change: (bytes: Buffer) => Uint8Array): string {
  const bytes = Buffer.from(cursorOf(on), 'base64url')
  const payload = change(Buffer.from(bytes.subarray(0, -6)))
  const checksum = createHash('sha256').update(payload).digest().subarray(0, 6)
  return Buffer.concat([payload, checksum]).toString('base64url')
}

const withCursor =
  (cursor: (on: Fixture) => unknown): Case[1] =>
  (on) =>
    on.store.query(byName, {}, { ...all, cursor: cursor(on) })

refuses('what is no cursor', [
  ['an empty string', withCursor(() => ''), 'BAD_CURSOR', /by_name is damaged/],
  ['a word', withCursor(() => MARKER), 'BAD_CURSOR', /by_name is damaged/],
  ['a page number', withCursor(() => 2), 'BAD_CURSOR', /by_name has to be a string; got a number/],
  ['null', withCursor(() => null), 'BAD_CURSOR', /has to be a string; got null/],
  ['true', withCursor(() => true), 'BAD_CURSOR', /has to be a string; got a boolean/],
  ['an object', withCursor(() => ({ key: MARKER })), 'BAD_CURSOR', /has to be a string; got an object/],
  ['an array', withCursor((on) => [cursorOf(on)]), 'BAD_CURSOR', /has to be a string; got an array/],
  ['bytes', withCursor(() => Buffer.alloc(60)), 'BAD_CURSOR', /has to be a string; got 60 bytes/],
  ['a String object', withCursor((on) => Object(cursorOf(on))), 'BAD_CURSOR', /has to be a string/],
  ['a function', withCursor((on) => () => cursorOf(on)), 'BAD_CURSOR', /has to be a string; got a function/],
  ['a symbol', withCursor(() => Symbol(MARKER)), 'BAD_CURSOR', /has to be a string/],
  ['5,000 characters', withCursor(() => MARKER.repeat(600)), 'BAD_CURSOR', /longer than any cursor/],
  ['zeros', withCursor(() => 'A'.repeat(80)), 'BAD_CURSOR', /damaged/],
  ['a JSON web token', withCursor(() => 'eyJhbGciOiJIUzI1NiJ9.e30.abc'), 'BAD_CURSOR', /damaged/],
  ['spaces', withCursor(() => ' '.repeat(80)), 'BAD_CURSOR', /damaged/],
  ['an id', withCursor((on) => on.id), 'BAD_CURSOR', /damaged/],
])

refuses('a cursor that was changed', [
  ['cut short', withCursor((on) => cursorOf(on).slice(0, -1)), 'BAD_CURSOR', /damaged/],
  ['cut to its beginning', withCursor((on) => cursorOf(on).slice(0, 20)), 'BAD_CURSOR', /damaged/],
  ['with a letter more', withCursor((on) => `${cursorOf(on)}A`), 'BAD_CURSOR', /damaged/],
  ['with a line break behind it', withCursor((on) => `${cursorOf(on)}\n`), 'BAD_CURSOR', /damaged/],
  ['with padding', withCursor((on) => `${cursorOf(on)}==`), 'BAD_CURSOR', /damaged/],
  ['in upper case', withCursor((on) => cursorOf(on).toUpperCase()), 'BAD_CURSOR', /damaged/],
  ['backwards', withCursor((on) => [...cursorOf(on)].toReversed().join('')), 'BAD_CURSOR', /damaged/],
  [
    'in hexadecimal',
    withCursor((on) => Buffer.from(cursorOf(on), 'base64url').toString('hex')),
    'BAD_CURSOR',
    /damaged/,
  ],
  [
    'encoded for a URL twice',
    withCursor((on) => encodeURIComponent(`${cursorOf(on)}%`)),
    'BAD_CURSOR',
    /damaged/,
  ],
  ['twice in a row', withCursor((on) => cursorOf(on).repeat(2)), 'BAD_CURSOR', /damaged/],
  ['of a later format', withCursor((on) => forged(on, (b) => ((b[0] = 3), b))), 'BAD_CURSOR', /format/],
  [
    'backward of a format that was not',
    withCursor((on) => forged(on, (b) => ((b[1] = 2), b))),
    'BAD_CURSOR',
    /format/,
  ],
  ['of no order', withCursor((on) => forged(on, (b) => ((b[1] = 8), b))), 'BAD_CURSOR', /order/],
  [
    'with its key cut',
    withCursor((on) => forged(on, (b) => b.subarray(0, -1))),
    'BAD_CURSOR',
    /not one of this index/,
  ],
  ['with no key', withCursor((on) => forged(on, (b) => b.subarray(0, 34))), 'BAD_CURSOR', /damaged/],
  [
    'with more than a key',
    withCursor((on) => forged(on, (b) => Buffer.concat([b, b]))),
    'BAD_CURSOR',
    /not one of this index/,
  ],
  [
    'with NaN in its key',
    withCursor((on) => forged(on, (b) => (b.writeDoubleBE(Number.NaN, b.length - 8), b))),
    'BAD_CURSOR',
    /not one of this index/,
  ],
  [
    'with a string longer than it is',
    withCursor((on) => forged(on, (b) => (b.writeUInt16BE(0xffff, 34), b))),
    'BAD_CURSOR',
    /not one of this index/,
  ],
])

refuses('a cursor of another query', [
  [
    'of another index',
    (on) => on.store.query(byScore, {}, { ...all, cursor: cursorOf(on) }),
    'BAD_CURSOR',
    /another index/,
  ],
  [
    'of another where',
    withCursor((on) => cursorOf(on, byName, { name: { gt: '' } })),
    'BAD_CURSOR',
    /another where/,
  ],
  [
    'of another value',
    (on) => on.store.query(byName, { name: 'b' }, { cursor: cursorOf(on, byName, { name: 'a' }) }),
    'BAD_CURSOR',
    /another where/,
  ],
  [
    'of a bound that is not inclusive',
    (on) =>
      on.store.query(byAge, { age: { gte: 1 } }, { ...all, cursor: cursorOf(on, byAge, { age: { gt: 1 } }) }),
    'BAD_CURSOR',
    /another where/,
  ],
  ['of the other order', withCursor((on) => cursorOf(on, byName, {}, 'desc')), 'BAD_CURSOR', /another order/],
  [
    'with a place outside of its query',
    (on) => on.store.query(byName, { name: 'b' }, { cursor: cursorOf(on, byName, { name: 'b' }) }),
    'BAD_CURSOR',
    /not one of this index/,
  ],
])

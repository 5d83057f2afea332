import { checkBag, isLooseleafError, type ErrorCode } from '@looseleaf/core'
import { jsonCodec, msgpackZlibCodec } from '@looseleaf/codec'
import type { Case } from './refusals.ts'
import { errorOf, MARKER, refuses } from './refusals.ts'

class Account {
  readonly password = MARKER
  readonly id = '0192f0c1-7c1e-7abc-8def-0123456789ab'
}

const failing = {
  get fails(): never {
    throw new TypeError('on purpose')
  },
}
const { proxy: revoked, revoke } = Proxy.revocable({}, {})
revoke()
const detached = new Uint8Array(4)
structuredClone(detached, { transfer: [detached.buffer] })

/** Values that are no bags. Each is given to put, insert, update and putMany, and to the codecs. */
const noBags: readonly (readonly [what: string, bag: unknown, names: RegExp])[] = [
  ['null', null, /null/],
  ['a string', MARKER, /a string of/],
  ['a number', 5, /a number/],
  ['true', true, /a boolean/],
  ['a bigint', 5n, /a bigint/],
  ['a symbol', Symbol(MARKER), /a symbol/],
  ['a function', () => ({ name: MARKER }), /a function/],
  ['an array of bags', [{ name: MARKER }], /an array of 1/],
  ['an empty array', [], /an array of 0/],
  [
    'an array with an id',
    Object.assign([MARKER], { id: '0192f0c1-7c1e-7abc-8def-0123456789ab' }),
    /an array/,
  ],
  ['a Map', new Map([['name', MARKER]]), /class Map/],
  ['a Set', new Set([MARKER]), /class Set/],
  ['a Date', new Date(0), /a Date/],
  ['bytes', new Uint8Array([1, 2]), /2 bytes/],
  ['an Error', new Error(MARKER), /class Error/],
  ['a promise of a bag', Promise.resolve({ name: MARKER }), /class Promise/],
  ['a class of one’s own, with an id', new Account(), /class Account/],
  ['a URLSearchParams', new URLSearchParams({ name: MARKER }), /class URLSearchParams/],
  ['an object that inherits from another', Object.create({ name: MARKER }), /an object/],
  ['a regular expression', /x/, /class RegExp/],
  ['a revoked proxy', revoked, /cannot be stored/],
]

const circle: Record<string, unknown> = { name: MARKER }
circle['self'] = { again: circle }
const deep: unknown = Array.from({ length: 65 }).reduce((inner) => ({ in: inner }), MARKER)
const deepList: unknown = Array.from({ length: 65 }).reduce((inner) => [inner], MARKER)

/** Values that a bag cannot hold, with the path that the message must begin with. */
const noValues: readonly (readonly [what: string, bag: object, path: RegExp])[] = [
  ['a function', { f: () => MARKER }, /^f cannot be stored/],
  ['a class', { Account }, /^Account cannot/],
  ['a symbol', { s: Symbol(MARKER) }, /^s cannot/],
  ['a property named by a symbol', { [Symbol(MARKER)]: 1 }, /The bag cannot.*symbol/],
  ['a property named by a symbol, below', { a: { [Symbol(MARKER)]: 1 } }, /^a cannot.*symbol/],
  ['an invalid Date', { at: new Date(Number.NaN) }, /^at cannot.*invalid Date/],
  ['a bigint of 65 bits', { big: 2n ** 64n }, /^big cannot.*64 bits/],
  ['a bigint below 64 bits', { big: -(2n ** 63n) - 1n }, /^big cannot.*64 bits/],
  ['a lone surrogate', { text: `${MARKER}\ud800` }, /^text cannot.*surrogate/],
  ['a lone second surrogate', { text: `\udc00${MARKER}` }, /^text cannot.*surrogate/],
  ['surrogates in the wrong order', { text: '\udc00\ud800' }, /^text cannot.*surrogate/],
  ['a lone surrogate in a name', { 'a\ud800': 1 }, /surrogate/],
  ['a lone surrogate in a name below', { a: [{ 'b\udfff': 1 }] }, /^a\[0\].*surrogate/],
  ['a property named __proto__', JSON.parse(`{"__proto__": "${MARKER}"}`) as object, /__proto__ cannot/],
  [
    'a property named __proto__, below',
    JSON.parse('{"a": [{"__proto__": {}}]}') as object,
    /^a\[0\]\.__proto__/,
  ],
  ['undefined in an array', { list: [1, undefined] }, /^list\[1\] cannot/],
  ['a hole in an array', { list: Object.assign([1], { 2: MARKER }) }, /^list\[1\] cannot/],
  ['an array of holes', { list: Array(4_000) }, /^list\[0\] cannot/],
  ['a Map', { m: new Map([['x', MARKER]]) }, /^m cannot.*class Map/],
  ['a Set', { m: new Set([MARKER]) }, /^m cannot.*class Set/],
  ['a WeakMap', { m: new WeakMap() }, /^m cannot.*class WeakMap/],
  ['a regular expression', { pattern: new RegExp(MARKER) }, /^pattern cannot.*class RegExp/],
  ['an Error', { e: new TypeError(MARKER) }, /^e cannot.*class TypeError/],
  ['a promise', { later: Promise.resolve(MARKER) }, /^later cannot.*class Promise/],
  ['a URL', { link: new URL(`https://user:${MARKER}@example.com`) }, /^link cannot.*class URL/],
  ['an ArrayBuffer', { bytes: new ArrayBuffer(4) }, /^bytes cannot.*class ArrayBuffer/],
  ['a DataView', { bytes: new DataView(new ArrayBuffer(4)) }, /^bytes cannot.*class DataView/],
  ['an array of 16-bit numbers', { bytes: new Uint16Array(4) }, /^bytes cannot.*class Uint16Array/],
  ['a boxed string', { s: Object(MARKER) as object }, /^s cannot.*class String/],
  ['a boxed number', { n: Object(5) as object }, /^n cannot.*class Number/],
  ['a class of one’s own', { account: new Account() }, /^account cannot.*class Account/],
  ['an object that inherits from another', { o: Object.create({ name: MARKER }) as object }, /^o cannot/],
  ['a generator', { g: (function* () {})() }, /^g cannot/],
  ['a getter that throws', { a: [failing] }, /^a\[0\]\.fails cannot.*reading it throws/],
  ['a revoked proxy', { p: revoked }, /^p cannot/],
  ['a proxy around a Date', { at: new Proxy(new Date(0), {}) }, /^at cannot/],
  ['a proxy around bytes', { bytes: new Proxy(new Uint8Array(2), {}) }, /^bytes cannot/],
  ['what only has the prototype of a Date', { at: Object.create(Date.prototype) as object }, /^at cannot/],
  ['bytes that were given away', { bytes: detached }, /^bytes cannot.*detached/],
  ['a circle', circle, /circle/],
  ['objects nested 65 deep', { deep }, /64 deep/],
  ['arrays nested 65 deep', { deepList }, /64 deep/],
  ['a function far below', { a: [{ b: { 'c d': [null, () => 1] } }] }, /^a\[0\]\.b\["c d"\]\[1\] cannot/],
  ['one bad element among good ones', { list: [1, 'x', new Date(0), Symbol(MARKER)] }, /^list\[3\] cannot/],
]

function everywhere(bag: unknown): Case[1] {
  return async ({ store, typed, id }) => {
    const fresh = typed.newId()
    const calls: readonly (readonly [string, () => unknown])[] = [
      ['put', () => store.put(bag)],
      ['put with an id', () => store.put(bag, { id: fresh })],
      ['put over an entity', () => store.put(bag, { id })],
      ['insert', () => store.insert(bag)],
      ['update', () => store.update(id, () => bag)],
      ['putMany', async () => throwFirst(await store.putMany([bag], { fates: true }))],
      ['checkBag', () => checkBag(bag)],
      ['the codec', () => msgpackZlibCodec().encode(bag as never)],
      ['the JSON codec', () => jsonCodec().encode(bag as never)],
    ]
    let first: unknown
    for (const [where, call] of calls) {
      const error = await errorOf(call)
      if (!isLooseleafError(error, 'BAD_PROPERTY'))
        throw new Error(`${where} is another matter`, { cause: error })
      first ??= error
    }
    throw first
  }
}

function throwFirst(results: unknown): void {
  for (const result of results as { ok: boolean; error?: unknown }[]) if (!result.ok) throw result.error
}

refuses(
  'what is no bag',
  noBags.map(([what, bag, names]): Case => [what, everywhere(bag), 'BAD_PROPERTY', names]),
)

refuses(
  'what a bag cannot hold',
  noValues.map(([what, bag, path]): Case => [what, everywhere(bag), 'BAD_PROPERTY', path]),
)

const noise = (bytes: number): Uint8Array =>
  Uint8Array.from({ length: bytes }, (_, i) => (i * i * 7919) % 251)

refuses('what is too much', [
  [
    'more values than a bag may have',
    ({ store }) => store.put({ list: Array.from({ length: 100_001 }, () => 0) }),
    'BODY_TOO_LARGE',
    /^list, with 100001 .*limit of 100000 values/,
  ],
  [
    'an array of four billion holes',
    ({ store }) => store.put({ list: Array(4_000_000_000) }),
    'BODY_TOO_LARGE',
    /^list, with 4000000000 /,
  ],
  [
    'few objects that unfold to many values',
    ({ store }) => store.put({ list: Array.from({ length: 50 }).reduce((inner) => [inner, inner], 1) }),
    'BODY_TOO_LARGE',
    /limit of 100000 values/,
  ],
  [
    'a body of more than 8 MiB',
    ({ store }) => store.put({ noise: noise(8 * 1024 * 1024) }),
    'BODY_TOO_LARGE',
    /maxBodyBytes/,
  ],
  [
    'a text of more than 8 MiB that would compress well',
    ({ store }) => store.put({ text: MARKER.repeat(1_000_000) }),
    'BODY_TOO_LARGE',
    /maxBodyBytes/,
  ],
  [
    'an update that makes a body of more than 8 MiB',
    ({ store, id }) => store.update(id, (bag: object) => ({ ...bag, text: 'x'.repeat(9_000_000) })),
    'BODY_TOO_LARGE',
    /maxBodyBytes/,
  ],
] satisfies readonly (readonly [string, Case[1], ErrorCode, RegExp])[])

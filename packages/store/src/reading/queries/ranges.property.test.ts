import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex, defineKey, type IndexDefinition, type IndexProperties } from '@looseleaf/index-engine'
import fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'

type Scalar = string | number | bigint | Date
type Comparable = string | number | bigint

/** An indexed property with a plain model of its conditions. */
interface Column {
  readonly spec: Exclude<IndexProperties[string], string>
  readonly values: readonly Scalar[]
  /** The whole value, in the order of ranges. */
  readonly whole: (value: Scalar) => Comparable
  /** The key of a value, in the order of ranges. Default: `whole`. */
  readonly key?: (value: Scalar) => Comparable
  /** Tells whether the next value, downwards for `lt` and upwards for `gt`, has the same key. Only if keys keep the order of values. */
  readonly sharesKey?: (value: Scalar, operator: 'gt' | 'lt') => boolean
}

const tens = defineKey({
  name: 'tens_of_integers',
  version: 1,
  from: 'integer',
  derive: (value: number | bigint) => floorOfTen(value),
})

function floorOfTen(value: number | bigint): bigint {
  const whole = BigInt(value)
  return whole - (((whole % 10n) + 10n) % 10n)
}

const times = [
  '2027-03-01T00:00:00.000Z',
  '2027-02-28T23:59:59.999Z',
  '2027-03-31T23:59:00.000Z',
  '2027-03-31T23:59:59.999Z',
  '2027-04-01T00:00:00.000Z',
  '2027-04-01T00:59:59.999Z',
  '2027-04-01T01:00:00.000Z',
  '2027-04-01T13:30:00.000Z',
  '1969-12-31T23:59:59.999Z',
  '1970-01-01T00:00:00.000Z',
].map((text) => new Date(text))

const long = 'm'.repeat(600)
const latin = ['', 'M', 'Ma', 'Mb', 'MB', 'mb', 'L\u{10ffff}', 'N', 'm', 'M\0', 'É', 'é', 'e\u0301']
const greek = ['Σ', 'ΟΣ', 'ος', 'οσ', 'ΟΣΑ', 'οσα', 'ΟΤ']
const texts = [
  ...latin,
  ...greek,
  '\uffee',
  '\u{1f600}',
  '\u{1f600}a',
  long,
  `${long}a`,
  `${long}B`,
  `${long}b`,
]
const integers = [
  0,
  -0,
  9,
  10,
  11,
  -1,
  -10,
  19,
  20,
  2 ** 53 - 1,
  2n ** 53n,
  2n ** 53n + 1n,
  -(2n ** 62n),
  2n ** 63n - 1n,
]
const numbers = [0, -0, 5e-324, -5e-324, 0.1, 0.1 + 0.2, 0.3, 1, 2 ** 53, 1e308, -1e308]

const isoOf = (value: Scalar): string => (value as Date).toISOString()
const period = (key: 'hour' | 'day' | 'month', length: number): Column => ({
  spec: { type: 'time', of: 'at', key },
  values: times,
  whole: isoOf,
  key: (value) => isoOf(value).slice(0, length),
  sharesKey: (value, operator) => {
    const beside = new Date((value as Date).getTime() + (operator === 'lt' ? -1 : 1))
    return isoOf(beside).slice(0, length) === isoOf(value).slice(0, length)
  },
})
const prefix = (length: number): Column => ({
  spec: { type: 'string', of: 'name', key: `prefix(${length})` },
  values: texts,
  whole: String,
  key: (value) => [...String(value)].slice(0, length).join(''),
  sharesKey: (value, operator) => [...String(value)].length >= (operator === 'lt' ? length + 1 : length),
})

const columns: Readonly<Record<string, Column>> = {
  at: { spec: { type: 'time' }, values: times, whole: isoOf },
  hour: period('hour', 13),
  day: period('day', 10),
  month: period('month', 7),
  name: { spec: { type: 'string' }, values: texts, whole: String },
  initial: prefix(1),
  two: prefix(2),
  lower: {
    spec: { type: 'string', of: 'name', key: 'lower' },
    values: texts,
    whole: String,
    key: (value) => String(value).toLowerCase(),
  },
  lower_nfc: {
    spec: { type: 'string', of: 'name', key: 'lowerNfc' },
    values: texts,
    whole: String,
    key: (value) => String(value).normalize('NFC').toLowerCase().normalize('NFC'),
  },
  size: { spec: { type: 'integer' }, values: integers, whole: (value) => value as number },
  tens: {
    spec: { type: 'integer', of: 'size', key: tens },
    values: integers,
    whole: (value) => value as number,
    key: (value) => floorOfTen(value as number),
    sharesKey: (value, operator) => {
      const beside = BigInt(value as number) + (operator === 'lt' ? -1n : 1n)
      return beside < 2n ** 63n && floorOfTen(beside) === floorOfTen(value as number)
    },
  },
  score: { spec: { type: 'number' }, values: numbers, whole: (value) => value as number },
  initials: { ...prefix(1), spec: { type: 'string[]', of: 'names', key: 'prefix(1)' } },
  days: { ...period('day', 10), spec: { type: 'time[]', of: 'times', key: 'day' } },
}

const indexes = new Map<string, IndexDefinition>()
for (const [name, { spec }] of Object.entries(columns)) {
  for (const order of ['asc', 'desc'] as const) {
    indexes.set(
      `${name}_${order}`,
      defineIndex(`by_${name}_${order}`, {
        properties: { owner: 'string', [name]: { ...spec, order } },
        shardOn: order === 'asc' ? 'owner' : 'id',
      }),
    )
  }
}

function compare(a: Comparable, b: Comparable): number {
  if (typeof a === 'string' || typeof b === 'string')
    return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))
  return a < b ? -1 : a > b ? 1 : 0
}

type Range = Readonly<Record<string, Scalar>>

/** Tells whether a value lies in a range; a closed end takes in all values of its key. */
function isWithin({ whole, key = whole, sharesKey }: Column, value: Scalar, range: Range): boolean {
  const open = sharesKey === undefined ? key : whole
  return Object.entries(range).every(([operator, bound]) => {
    switch (operator) {
      case 'gt':
        return compare(open(value), open(bound)) > 0
      case 'lt':
        return compare(open(value), open(bound)) < 0
      case 'gte':
        return compare(key(value), key(bound)) >= 0
      case 'lte':
        return compare(key(value), key(bound)) <= 0
      default:
        return beginningsOf(String(key(bound)), key === whole || sharesKey !== undefined).some((beginning) =>
          String(key(value)).startsWith(beginning),
        )
    }
  })
}

/** At the end of a beginning in lower case, ς and σ are one letter. */
function beginningsOf(text: string, isPlain: boolean): string[] {
  return isPlain || !/[ςσ]$/.test(text) ? [text] : ['ς', 'σ'].map((sigma) => text.slice(0, -1) + sigma)
}

/** Every value is in an entity of each owner. */
const bags = ['a', 'b'].flatMap((owner) =>
  texts.map((name, i) => ({
    owner,
    at: times[i % times.length]!,
    name,
    size: integers[i % integers.length]!,
    score: numbers[i % numbers.length]!,
    names: [name, texts[(7 * i + 3) % texts.length]!],
    times: [times[i % times.length]!, times[(3 * i + 1) % times.length]!],
  })),
)

const queries = fc
  .record({
    name: fc.constantFrom(...Object.keys(columns)),
    order: fc.constantFrom('asc', 'desc'),
    picks: fc.tuple(fc.nat(100), fc.nat(100)),
    lower: fc.constantFrom('gt', 'gte', 'startsWith', undefined),
    upper: fc.constantFrom('lt', 'lte', undefined),
    owner: fc.constantFrom<object | string>('a', { in: ['b', 'a'] }),
  })
  .map(({ name, order, picks, lower, upper, owner }) => {
    const { values, spec } = columns[name]!
    const [low, high] = picks.map((pick) => values[pick % values.length]!) as [Scalar, Scalar]
    if (lower === 'startsWith' && spec.type.startsWith('string'))
      return { name, order, owner, range: { startsWith: low } as Range }
    const range = {
      ...(lower && { [lower === 'startsWith' ? 'gte' : lower]: low }),
      ...(upper && { [upper]: high }),
    }
    return { name, order, owner, range: Object.keys(range).length === 0 ? { gte: low } : range }
  })

let store: DataStore
let ids: readonly string[]

beforeAll(async () => {
  store = await DataStore.open({ shards: memoryShards(2), indexes: [...indexes.values()], migrate: true })
  ids = (await store.putMany(bags)).map(({ id }) => id)
})

afterAll(() => store.close())

test('a range answers with the values that lie in it, and with all values of the keys at its closed ends, or is refused', async () => {
  await fc.assert(
    fc.asyncProperty(queries, async ({ name, order, owner, range }) => {
      const column = columns[name]!
      const index = indexes.get(`${name}_${order}`)!
      const where = { owner, [name]: range } as never
      const answer = store.getAll(index, where, { scatter: true })
      const isCut = Object.entries(range).some(
        ([operator, bound]) =>
          (operator === 'lt' || operator === 'gt') && column.sharesKey?.(bound, operator) === true,
      )
      if (isCut) {
        await expect(answer).rejects.toMatchObject({ code: 'BAD_QUERY' })
        return
      }
      const { of = name, type } = column.spec
      const expected = bags.flatMap((bag, i) => {
        const held = (bag as Readonly<Record<string, unknown>>)[of]
        const values = type.endsWith('[]') ? (held as Scalar[]) : [held as Scalar]
        const isOf = typeof owner === 'object' || bag.owner === owner
        return isOf && values.some((value) => isWithin(column, value, range)) ? [ids[i]] : []
      })
      expect((await answer).map(({ id }) => id).toSorted()).toEqual(expected.toSorted())
      expect(await store.count(index, where, { scatter: true })).toBe(expected.length)
    }),
    { numRuns: runsOf(300) },
  )
})

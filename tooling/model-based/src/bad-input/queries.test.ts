import {
  byAge,
  byAges,
  byAll,
  byFlag,
  byName,
  byOwner,
  byScore,
  byTag,
  byTime,
  MARKER,
  refuses,
} from './refusals.ts'
import type { Case } from './refusals.ts'
import type { IndexDefinition } from '@looseleaf/index-engine'

const uuid = '0192f0c1-7c1e-7abc-8def-0123456789ab'

/** A where that no index takes, with what the message has to say. */
const wheres: readonly (readonly [what: string, index: IndexDefinition, where: unknown, names: RegExp])[] = [
  ['nothing', byName, undefined, /by_name needs an object.*nothing/],
  ['null', byName, null, /by_name needs an object.*null/],
  ['a string', byName, MARKER, /by_name needs an object.*a string/],
  ['a number', byName, 5, /by_name needs an object.*a number/],
  ['an array', byName, [MARKER], /by_name needs an object.*an array/],
  ['a Map', byName, new Map([['name', MARKER]]), /by_name needs an object.*class Map/],
  ['a function', byName, () => ({}), /by_name needs an object.*a function/],
  [
    'a property of another index',
    byName,
    { owner: uuid },
    /by_name has no property owner; it has name, age, score/,
  ],
  ['a misspelt property', byName, { nmae: MARKER }, /by_name has no property nmae/],
  ['a property in another case', byName, { Name: MARKER }, /by_name has no property Name/],
  ['a property that is inherited by all', byName, { toString: MARKER }, /by_name has no property toString/],
  ['an id', byName, { id: uuid }, /by_name has no property id/],
  ['the second property alone', byName, { age: 5 }, /by_name cannot use age without a value of name/],
  [
    'the third property without the second',
    byName,
    { name: 'a', score: 1 },
    /cannot use score without a value of age/,
  ],
  [
    'a value behind a range',
    byName,
    { name: { gt: 'a' }, age: 5 },
    /cannot use age behind the range on name/,
  ],
  [
    'a range behind a range',
    byName,
    { name: { gt: 'a' }, age: { lt: 5 } },
    /cannot use age behind the range on name/,
  ],
  ['an empty range', byName, { name: {} }, /empty range for name/],
  [
    'a range with another operator',
    byName,
    { name: { eq: MARKER } },
    /knows gt, gte, lt and lte.*eq for name/,
  ],
  [
    'a range with an operator of another system',
    byName,
    { name: { $gt: MARKER } },
    /knows gt, gte, lt and lte/,
  ],
  ['a range with between', byName, { name: { between: ['a', 'b'] } }, /knows gt, gte, lt and lte/],
  [
    'a beginning and a bound',
    byName,
    { name: { startsWith: 'a', lt: 'b' } },
    /startsWith and other bounds for name/,
  ],
  [
    'a beginning of an integer',
    byAge,
    { age: { startsWith: '1' } },
    /startsWith for strings alone; age is of type integer/,
  ],
  ['a number as a beginning', byName, { name: { startsWith: 5 } }, /a string for startsWith for name/],
  [
    'a beginning that is nothing',
    byName,
    { name: { startsWith: undefined } },
    /for startsWith for name; got nothing/,
  ],
  ['a lone surrogate as a beginning', byName, { name: { startsWith: '\ud800' } }, /lone surrogates/],
  ['gt and gte', byName, { name: { gt: 'a', gte: 'a' } }, /both gt and gte for name/],
  ['lt and lte', byName, { name: { lt: 'a', lte: 'a' } }, /both lt and lte for name/],
  ['null in a range', byName, { name: { gt: null } }, /a value for gt for name; got null/],
  ['undefined in a range', byName, { name: { gt: undefined } }, /a value for gt for name; got nothing/],
  ['null for a value', byName, { name: null }, /for name; got null/],
  ['undefined for a value', byName, { name: undefined }, /for name; got nothing/],
  [
    'an array of values',
    byName,
    { name: [MARKER, 'b'] },
    /by_name needs .* for name: a string is expected, got an array/,
  ],
  ['a number for a string', byName, { name: 5 }, /for name: a string/],
  ['a lone surrogate', byName, { name: `${MARKER}\ud800` }, /for name: .*surrogate/],
  ['a regular expression', byName, { name: /x/ }, /for name: a string/],
  ['a function for a string', byName, { name: () => 'a' }, /for name: a string/],
  ['a symbol for a string', byName, { name: Symbol(MARKER) }, /for name: a string/],
  [
    'a Date for a string in a range',
    byName,
    { name: { lt: new Date(0) } },
    /a value for lt for name: a string/,
  ],
  ['a string for an integer', byAge, { age: '5' }, /by_age .*for age: a whole number/],
  ['a fraction for an integer', byAge, { age: 5.5 }, /for age: .*not whole/],
  ['NaN for an integer', byAge, { age: Number.NaN }, /for age: .*not whole/],
  ['2^53 for an integer', byAge, { age: { gte: 2 ** 53 } }, /for age: .*greater number/],
  ['a bigint of 65 bits', byAge, { age: { lt: 2n ** 64n } }, /for age: .*greater bigint/],
  ['a Date for an integer', byAge, { age: new Date(0) }, /for age: a whole number/],
  ['NaN for a number', byScore, { score: Number.NaN }, /by_score .*for score: a finite number/],
  ['infinity for a bound', byScore, { score: { lt: Infinity } }, /for lt for score: a finite number/],
  ['a bigint for a number', byScore, { score: 5n }, /for score: a finite number/],
  ['a string for a boolean', byFlag, { on: 'true' }, /by_flag .*for on: true or false/],
  ['0 for a boolean', byFlag, { on: 0 }, /for on: true or false/],
  ['a number for a time', byTime, { at: 0 }, /by_time .*for at: a valid Date/],
  ['an invalid Date', byTime, { at: new Date(Number.NaN) }, /for at: a valid Date/],
  [
    'an invalid Date in a range',
    byTime,
    { at: { gte: new Date('yesterday') } },
    /for gte for at: a valid Date/,
  ],
  ['an ISO text for a time', byTime, { at: '2009-02-27' }, /for at: a valid Date/],
  ['a name for a uuid', byOwner, { owner: MARKER }, /by_owner .*for owner: a UUID string/],
  ['bytes for a uuid', byOwner, { owner: new Uint8Array(16) }, /for owner: a UUID string/],
  ['the array itself for an array', byTag, { tags: [MARKER] }, /by_tag .*of an element.* for tags: a string/],
  ['a number for an element', byTag, { tags: 5 }, /of an element.* for tags: a string/],
  [
    'an array in a range of elements',
    byAges,
    { ages: { gt: [1] } },
    /of an element.*for ages: a whole number/,
  ],
  [
    'a value after all of many',
    byAll,
    { name: 'a', owner: uuid, on: true, at: new Date(0), age: 1, score: 'x' },
    /for score: a finite number/,
  ],
]

refuses(
  'a where that does not fit, in query, getAll and both counts',
  wheres.map(([what, index, where, names]): Case => [
    what,
    async ({ store }) => {
      const answers = await Promise.allSettled([
        store.query(index, where, { scatter: true }),
        store.getAll(index, where, { scatter: true }),
        store.count(index, where, { scatter: true }),
        store.count(index, where, { scatter: true, exact: true }),
      ])
      const messages = answers.map((answer) =>
        answer.status === 'rejected' ? String(answer.reason) : 'accepted',
      )
      if (new Set(messages).size > 1) throw new Error(`They say different things: ${messages.join(' / ')}`)
      const [first] = answers
      if (first?.status === 'rejected') throw first.reason
    },
    'BAD_QUERY',
    names,
  ]),
)

const all = { scatter: true }

refuses('options of a query that it does not take', [
  [
    'a limit of 0',
    ({ store }) => store.query(byName, {}, { ...all, limit: 0 }),
    'BAD_QUERY',
    /limit .* from 1 to 1000/,
  ],
  ['a limit of -1', ({ store }) => store.query(byName, {}, { ...all, limit: -1 }), 'BAD_QUERY', /limit/],
  ['a limit of 1,001', ({ store }) => store.query(byName, {}, { ...all, limit: 1001 }), 'BAD_QUERY', /limit/],
  ['a limit of 1.5', ({ store }) => store.query(byName, {}, { ...all, limit: 1.5 }), 'BAD_QUERY', /limit/],
  [
    'a limit of NaN',
    ({ store }) => store.query(byName, {}, { ...all, limit: Number.NaN }),
    'BAD_QUERY',
    /limit/,
  ],
  [
    'no limit by infinity',
    ({ store }) => store.query(byName, {}, { ...all, limit: Infinity }),
    'BAD_QUERY',
    /limit/,
  ],
  [
    'a limit of null',
    ({ store }) => store.query(byName, {}, { ...all, limit: null }),
    'BAD_QUERY',
    /limit.*null/,
  ],
  [
    'a limit in digits',
    ({ store }) => store.query(byName, {}, { ...all, limit: '10' }),
    'BAD_QUERY',
    /limit.*a string/,
  ],
  [
    'a limit as a bigint',
    ({ store }) => store.query(byName, {}, { ...all, limit: 10n }),
    'BAD_QUERY',
    /limit.*a bigint/,
  ],
  [
    'a limit in an array',
    ({ store }) => store.query(byName, {}, { ...all, limit: [10] }),
    'BAD_QUERY',
    /limit.*an array/,
  ],
  [
    'an order in capitals',
    ({ store }) => store.query(byName, {}, { ...all, order: 'DESC' }),
    'BAD_QUERY',
    /order has to be 'asc' or 'desc'/,
  ],
  ['an order of -1', ({ store }) => store.query(byName, {}, { ...all, order: -1 }), 'BAD_QUERY', /order/],
  ['an order of null', ({ store }) => store.query(byName, {}, { ...all, order: null }), 'BAD_QUERY', /order/],
  [
    'an order by property',
    ({ store }) => store.query(byName, {}, { ...all, order: { age: 'asc' } }),
    'BAD_QUERY',
    /order/,
  ],
  [
    'an order for getAll',
    ({ store }) => store.getAll(byName, {}, { ...all, order: 'up' }),
    'BAD_QUERY',
    /order/,
  ],
  [
    'a scatter of 1',
    ({ store }) => store.query(byName, {}, { scatter: 1 }),
    'BAD_QUERY',
    /scatter has to be true or false/,
  ],
  ['a scatter in words', ({ store }) => store.query(byName, {}, { scatter: 'yes' }), 'BAD_QUERY', /scatter/],
  ['a scatter of null', ({ store }) => store.count(byName, {}, { scatter: null }), 'BAD_QUERY', /scatter/],
  [
    'no value for shardOn',
    ({ store }) => store.query(byName, {}),
    'BAD_QUERY',
    /kept by name.*scatter: true/,
  ],
  [
    'a range for shardOn',
    ({ store }) => store.query(byName, { name: { gt: 'a' } }),
    'BAD_QUERY',
    /kept by name/,
  ],
  ['no value for shardOn, in getAll', ({ store }) => store.getAll(byTag, {}), 'BAD_QUERY', /kept by tags/],
  ['no value for shardOn, in count', ({ store }) => store.count(byOwner, {}), 'BAD_QUERY', /kept by owner/],
  [
    'no scatter where rows are beside their entities',
    ({ store }) => store.query(byAge, { age: 5 }),
    'BAD_QUERY',
    /shards of their entities/,
  ],
  [
    'an exact in words',
    ({ store }) => store.count(byName, {}, { ...all, exact: 'yes' }),
    'BAD_OPTION',
    /exact of count.*true or false.*a string/,
  ],
  [
    'an exact of 1',
    ({ store }) => store.count(byName, {}, { ...all, exact: 1 }),
    'BAD_OPTION',
    /exact of count/,
  ],
  [
    'an exact of null',
    ({ store }) => store.count(byName, {}, { ...all, exact: null }),
    'BAD_OPTION',
    /exact of count.*null/,
  ],
  [
    'a misspelt limit',
    ({ store }) => store.query(byName, {}, { ...all, limt: 5 }),
    'BAD_OPTION',
    /query has no option "limt"/,
  ],
  [
    'an offset',
    ({ store }) => store.query(byName, {}, { ...all, offset: 50 }),
    'BAD_OPTION',
    /query has no option "offset"/,
  ],
  [
    'an order in count',
    ({ store }) => store.count(byName, {}, { ...all, order: 'asc' }),
    'BAD_OPTION',
    /count has no option "order"/,
  ],
  [
    'a limit in getAll',
    ({ store }) => store.getAll(byName, {}, { ...all, limit: 5 }),
    'BAD_OPTION',
    /getAll has no option "limit"/,
  ],
  [
    'a cursor in getAll',
    ({ store }) => store.getAll(byName, {}, { ...all, cursor: MARKER }),
    'BAD_OPTION',
    /getAll has no option "cursor"/,
  ],
])

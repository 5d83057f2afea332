import type { Case, Fixture } from './refusals.ts'
import { errorOf, MARKER, refuses } from './refusals.ts'

/** Invalid ids. Each is given to every call that takes an id. */
const badIds: readonly (readonly [what: string, id: unknown])[] = [
  ['an empty string', ''],
  ['a name', `${MARKER}`],
  ['a UUID without hyphens', '0192f0c17c1e7abc8def0123456789ab'],
  ['a UUID in braces', '{0192f0c1-7c1e-7abc-8def-0123456789ab}'],
  ['a UUID as a URN', 'urn:uuid:0192f0c1-7c1e-7abc-8def-0123456789ab'],
  ['a UUID with a space behind it', '0192f0c1-7c1e-7abc-8def-0123456789ab '],
  ['a UUID with a line break behind it', '0192f0c1-7c1e-7abc-8def-0123456789ab\n'],
  ['a digit too few', '0192f0c1-7c1e-7abc-8def-0123456789a'],
  ['a digit too many', '0192f0c1-7c1e-7abc-8def-0123456789abc'],
  ['a letter beyond f', 'g192f0c1-7c1e-7abc-8def-0123456789ab'],
  ['digits of another script', '٠192f0c1-7c1e-7abc-8def-0123456789ab'],
  ['hyphens elsewhere', '0192f0c17-c1e-7abc-8def-0123456789ab'],
  ['a statement', `'; DROP TABLE entities; --${MARKER}`],
  ['null', null],
  ['a number', 17],
  ['NaN', Number.NaN],
  ['a bigint', 17n],
  ['true', true],
  ['the 16 bytes', new Uint8Array(16)],
  ['an array of a UUID', ['0192f0c1-7c1e-7abc-8def-0123456789ab']],
  ['an object that turns into a UUID', { toString: () => '0192f0c1-7c1e-7abc-8def-0123456789ab' }],
  ['a String object', Object('0192f0c1-7c1e-7abc-8def-0123456789ab')],
  ['a Date', new Date(0)],
  ['a symbol', Symbol(MARKER)],
  ['a function', () => '0192f0c1-7c1e-7abc-8def-0123456789ab'],
]

const bag = { name: MARKER }
const places: readonly (readonly [where: string, call: (on: Fixture, id: unknown) => unknown])[] = [
  ['get', ({ store }, id) => store.get(id)],
  ['getMany', ({ store, id: good }, id) => store.getMany([good, id])],
  ['put', ({ store }, id) => store.put(bag, { id })],
  ['put with the id in the bag', ({ store }, id) => store.put({ ...bag, id })],
  ['insert', ({ store }, id) => store.insert(bag, { id })],
  ['insert with the id in the bag', ({ store }, id) => store.insert({ ...bag, id })],
  ['update', ({ store }, id) => store.update(id, () => bag)],
  ['delete', ({ store }, id) => store.delete(id)],
]

refuses(
  'what is no id, in every call that takes one',
  badIds.map(([what, id]): Case => [
    what,
    async (on) => {
      let first: unknown
      for (const [where, call] of places) {
        const error = await errorOf(() => call(on, id))
        if (!(error instanceof Error) || !('code' in error) || error.code !== 'BAD_ID') {
          throw new Error(`${where} does not refuse it as an id`, { cause: error })
        }
        first ??= error
      }
      throw first
    },
    'BAD_ID',
    /id has to be a UUID/,
  ]),
)

refuses('ids that contradict one another', [
  [
    'an update that gives the bag another id',
    ({ store, id }) => store.update(id, () => ({ ...bag, id: '0192f0c1-7c1e-7abc-8def-0123456789ab' })),
    'BAD_ID',
    /another id/,
  ],
  [
    'an update that takes the id for null',
    ({ store, id }) => store.update(id, () => ({ ...bag, id: null })),
    'BAD_ID',
    /id has to be/,
  ],
  ['no id to get', ({ store }) => store.get(), 'BAD_ID', /got nothing/],
  ['no id to delete', ({ store }) => store.delete(), 'BAD_ID', /got nothing/],
  ['no id to update', ({ store }) => store.update(undefined, () => bag), 'BAD_ID', /got nothing/],
  [
    'a hole among the ids',
    ({ store, id }) => store.getMany(Object.assign([id], { 2: id })),
    'BAD_ID',
    /got nothing/,
  ],
  [
    'an update of what is not there',
    ({ store }) => store.update('3f333df6-90a4-4fda-8dd3-9485d27cee36', () => bag),
    'NOT_FOUND',
    /3f333df6-90a4/,
  ],
  ['an insert of what is there', ({ store, id }) => store.insert(bag, { id }), 'ALREADY_EXISTS', /already/],
  [
    'an insert of what is there, in upper case',
    ({ store, id }) => store.insert(bag, { id: id.toUpperCase() }),
    'ALREADY_EXISTS',
    /already/,
  ],
])

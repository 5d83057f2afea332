import { read } from './row-queries.ts'
import { byKey } from './row-world.ts'
import { exactSwitch } from './row-movers.ts'
import {
  backward,
  page,
  scatter,
  TWO_FAR_ONE_NEAR,
  TWO_NEAR_ONE_FAR,
  TWO_NEAR,
  type NearSituations,
} from './situation.ts'

/** Pages, value lists, replicas and old programs beside one writer or two. */
export const pageSituations: NearSituations = {
  'an entity moves to and fro on one shard beside pages of one statement': {
    build: ({ writes, asks }) => ({
      callers: [writes([['n2'], ['n1'], ['n2']]), asks(TWO_NEAR, page(TWO_NEAR))],
    }),
    guards: [],
  },
  'a call of two statements, forward and backward': {
    build: ({ g, writes, asks }) => {
      const opens = g.oneSnapshot ? { opens: 0 as const } : {}
      return {
        callers: [
          writes([['n2'], ['n1']]),
          asks(TWO_NEAR, [read(0, byKey, ['n1'], opens), read(0, byKey, ['n2'])]),
          asks(TWO_NEAR, [read(0, byKey, ['n2'], opens), read(0, byKey, ['n1'])]),
        ],
      }
    },
    guards: ['oneSnapshot'],
  },
  'a page that is refilled': {
    build: ({ g, writes, asks }) => {
      const refill = (first: string, second: string) => [
        read(0, byKey, [first]),
        g.refillsBeginAnew ? read(0, byKey, TWO_NEAR, { beginsAnew: true }) : read(0, byKey, [second]),
      ]
      return {
        callers: [
          writes([['n2'], ['n1']]),
          asks(TWO_NEAR, refill('n1', 'n2')),
          asks(TWO_NEAR, refill('n2', 'n1')),
        ],
      }
    },
    guards: ['refillsBeginAnew'],
  },
  'a value list': {
    build: ({ g, writes, asks }) => ({
      callers: [
        writes([['n2'], ['n1']]),
        asks(
          TWO_NEAR,
          g.listsAreOneStatement ? page(TWO_NEAR) : [read(0, byKey, ['n2']), read(0, byKey, ['n1'])],
        ),
      ],
    }),
    guards: ['listsAreOneStatement'],
  },
  'an entity goes far and comes back while shards are read in both orders': {
    build: ({ writes, asks }) => ({
      callers: [
        writes([['n2'], ['f1'], ['n1']]),
        asks(TWO_NEAR_ONE_FAR, scatter(TWO_NEAR_ONE_FAR)),
        asks(TWO_NEAR_ONE_FAR, backward(TWO_NEAR_ONE_FAR)),
      ],
    }),
    guards: ['allRowsFit', 'otherRowsStay', 'farRowsFirst'],
  },
  'an entity comes from afar': {
    build: ({ writes, asks }) => ({
      world: { keys: ['f1'] },
      callers: [
        writes([['n1'], ['n2']]),
        asks(TWO_NEAR_ONE_FAR, scatter(TWO_NEAR_ONE_FAR)),
        asks(TWO_NEAR_ONE_FAR, backward(TWO_NEAR_ONE_FAR)),
      ],
    }),
    guards: ['otherRowsStay'],
  },
  'an entity with several keys gains a far one, then loses the near one': {
    build: ({ writes, asks }) => ({
      callers: [
        writes([['n1', 'f1'], ['f1'], ['n2']]),
        asks(['n1', 'f1'], scatter(['n1', 'f1'])),
        asks(['n1', 'f1'], backward(['n1', 'f1'])),
      ],
    }),
    guards: ['allRowsFit', 'keptRowsCount'],
  },
  'an old program, which deletes no row at once, writes through a pooler beside a new program': {
    build: ({ writes, asks }) => ({
      callers: [
        writes([['n2'], ['n1']]),
        writes([['n2']], { isSplit: true, isOld: true }),
        asks(TWO_NEAR, page(TWO_NEAR)),
      ],
    }),
    guards: ['deletesAreForWinners'],
  },
  'a program that does not protect itself reads': {
    build: ({ g, writes, asks }) => ({
      world: { isExact: false },
      callers: [
        writes([['n2'], ['n1']]),
        asks(TWO_NEAR, [read(0, byKey, ['n2']), read(0, byKey, ['n1'])], { isOld: true }),
        asks(TWO_NEAR, [read(0, byKey, ['n2'], { opens: 0 }), read(0, byKey, ['n1'])]),
      ],
      others: [exactSwitch(g)],
    }),
    guards: ['oldReadersAreKeptOut', 'otherRowsStay'],
  },
  'an answer of a replica and another shard': {
    build: ({ writes, asks }) => ({
      callers: [
        writes([['n2'], ['f1'], ['n1']]),
        asks(TWO_NEAR_ONE_FAR, scatter(TWO_NEAR_ONE_FAR), { replica: 0 }),
        asks(TWO_NEAR_ONE_FAR, scatter(TWO_NEAR_ONE_FAR), { replica: 1 }),
      ],
    }),
    guards: ['otherRowsStay'],
  },
  'an answer of a replica, and then of its primary': {
    build: ({ g, writes, asks }) => ({
      callers: [
        writes([['n2'], ['n1']]),
        asks(
          TWO_NEAR,
          [
            read(0, byKey, ['n2']),
            g.oneServer
              ? read(0, byKey, TWO_NEAR, { closes: 0, beginsAnew: true })
              : read(0, byKey, ['n1'], { closes: 0 }),
          ],
          { replica: 0 },
        ),
      ],
    }),
    guards: ['oneServer'],
  },
  'far rows of one shard go to and fro beside near ones': {
    isLarge: true,
    build: ({ writes, asks }) => ({
      world: { keys: ['f1'] },
      callers: [
        writes([['f2'], ['f1'], ['n1']]),
        writes([['f2']]),
        asks(TWO_FAR_ONE_NEAR, scatter(TWO_FAR_ONE_NEAR)),
      ],
    }),
    guards: ['otherRowsStay'],
  },
  'far rows of one shard go to and fro while shards are read, with shard B first': {
    isLarge: true,
    build: ({ writes, asks }) => ({
      world: { keys: ['f1'] },
      callers: [
        writes([['f2'], ['n1'], ['f1']]),
        writes([['n1']]),
        asks(TWO_FAR_ONE_NEAR, backward(TWO_FAR_ONE_NEAR)),
      ],
    }),
    guards: ['otherRowsStay'],
  },
}

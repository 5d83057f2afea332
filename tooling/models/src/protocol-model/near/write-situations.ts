import { read } from './row-queries.ts'
import { byKey } from './row-world.ts'
import { latePacket, nearSweep } from './row-writers.ts'
import { backward, page, TWO_NEAR, TWO_NEAR_ONE_FAR, type NearSituations } from './situation.ts'

/** Several writers, crashes, poolers, late packets and cleaners. */
export const writeSituations: NearSituations = {
  'two writers of an entity with several keys': {
    build: ({ writes, asks }) => ({
      world: { keys: ['n2'] },
      callers: [
        writes([['n1', 'n2']]),
        writes([['n2', 'f1'], ['n2']]),
        asks(['n2', 'f1'], backward(['n2', 'f1'])),
      ],
    }),
    guards: [],
  },
  'two writers whose swaps are gathered': {
    build: ({ writes, asks }) => ({
      callers: [writes([['n2'], ['n1']]), writes([['n2']]), asks(TWO_NEAR, page(TWO_NEAR))],
    }),
    guards: ['deletesAreForWinners', 'swapsCompareVersions'],
  },
  'three writers, and a key that is kept': {
    build: ({ writes }) => ({ callers: [writes([['n2']]), writes([['n1']]), writes([['n1', 'n2']])] }),
    guards: ['deletesAreForWinners'],
  },
  'a pooler splits transactions, and a writer dies': {
    isLarge: true,
    build: ({ writes, asks }) => ({
      callers: [
        writes([['n2'], ['n1']], { isSplit: true }),
        writes([['n2']], { isSplit: true }),
        asks(TWO_NEAR, page(TWO_NEAR)),
      ],
      crashes: 1,
    }),
    guards: ['rowsBeforeSwap', 'deletesAfterSwap', 'deletesAreForWinners'],
  },
  'a pooler splits transactions of far rows': {
    isLarge: true,
    build: ({ writes, asks }) => ({
      callers: [
        writes([['n2'], ['f1'], ['n1']], { isSplit: true }),
        writes([['n1', 'f1']]),
        asks(TWO_NEAR_ONE_FAR, backward(TWO_NEAR_ONE_FAR)),
      ],
      crashes: 1,
    }),
    guards: ['rowsBeforeSwap', 'farRowsFirst'],
  },
  'a writer dies anywhere': {
    build: ({ writes, asks }) => ({
      callers: [
        writes([['n2'], ['f1']]),
        writes([['n1']]),
        asks(TWO_NEAR_ONE_FAR, backward(TWO_NEAR_ONE_FAR)),
      ],
      crashes: 1,
    }),
    guards: ['farRowsFirst'],
  },
  'a packet arrives late': {
    build: ({ g, writes, asks }) => ({
      callers: [writes([['n1', 'n2'], ['n1']]), asks(TWO_NEAR, page(TWO_NEAR))],
      events: [latePacket(g)],
    }),
    guards: ['deletesAreForWinners'],
  },
  'a cleaner passes beside two writers': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      world: { leftovers: [{ 'I.n2': 5 }, {}] },
      callers: [writes([['n2']]), writes([['f1']]), asks(TWO_NEAR_ONE_FAR, backward(TWO_NEAR_ONE_FAR))],
      others: [nearSweep(0, g, indexes)],
    }),
    guards: ['deletesCompareStamps', 'cleanersWait'],
  },
  'a cleaner passes beside an attempt that loses': {
    build: ({ g, writes, indexes }) => ({
      world: { leftovers: [{ 'I.n2': 5 }, {}] },
      callers: [writes([['n2']]), writes([['f1'], ['n2']])],
      others: [nearSweep(0, g, indexes)],
    }),
    guards: ['greatestStampStays', 'deletesCompareStamps'],
  },
  'far rows are given up, gained again and written late': {
    isLarge: true,
    build: ({ writes, asks }) => ({
      world: { keys: ['n2'] },
      callers: [
        writes([['f1'], ['n2']]),
        writes([['f1']]),
        writes([['f1']]),
        asks(['n2', 'f1'], backward(['n2', 'f1'])),
      ],
    }),
    guards: ['greatestStampStays', 'deletesCompareStamps'],
  },
  'a cleaner passes beside a query at a snapshot': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      world: { leftovers: [{ 'I.n2': 5 }, {}] },
      callers: [
        writes([['n2'], ['n1']]),
        writes([['f1'], ['n2']]),
        asks(TWO_NEAR_ONE_FAR, [
          read(0, byKey, ['n1'], { opens: 0 }),
          read(0, byKey, ['n2']),
          read(1, byKey, TWO_NEAR_ONE_FAR),
        ]),
      ],
      others: [nearSweep(0, g, indexes)],
    }),
    guards: ['deletesCompareStamps'],
  },
  'an entity is deleted, created again and deleted': {
    build: ({ writes, asks }) => ({
      callers: [writes([[], ['n2'], []]), writes([['n1']]), asks(TWO_NEAR, page(TWO_NEAR))],
    }),
    guards: ['deletesAreForWinners'],
  },
  'two writers create an entity beside a cleaner': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      world: { keys: [] },
      callers: [
        writes([['n1'], ['n2']]),
        writes([['f1'], ['n2']]),
        asks(TWO_NEAR_ONE_FAR, backward(TWO_NEAR_ONE_FAR)),
      ],
      others: [nearSweep(0, g, indexes)],
    }),
    guards: ['deletesCompareStamps'],
  },
  'two writers in all places, and two queries': {
    isLarge: true,
    build: ({ writes, asks }) => ({
      callers: [
        writes([['n2'], ['f1'], ['n1']]),
        writes([['n1'], ['f1']]),
        asks(TWO_NEAR_ONE_FAR, backward(TWO_NEAR_ONE_FAR)),
        asks(TWO_NEAR_ONE_FAR, [
          read(0, byKey, ['n1'], { opens: 0 }),
          read(0, byKey, ['n2']),
          read(1, byKey, TWO_NEAR_ONE_FAR),
        ]),
      ],
    }),
    guards: ['otherRowsStay'],
  },
}

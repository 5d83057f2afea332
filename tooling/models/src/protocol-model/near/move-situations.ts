import { nearMover } from './row-movers.ts'
import { backward, scatter, NEAR_OR_SAME, TWO_NEAR, type NearSituations } from './situation.ts'

/** Moves of the bucket of the entity, and of another bucket. */
export const moveSituations: NearSituations = {
  'a bucket of near rows moves with its entity': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      callers: [writes([['n2'], ['n1']]), asks(TWO_NEAR, scatter(TWO_NEAR), { looksAt: 1 })],
      others: [nearMover(g, { bucket: 'own', indexes, upTo: 'after' })],
    }),
    guards: ['commitsAreFenced', 'allWriteBeforeReads', 'readersAreAwaited'],
  },
  'another bucket of the shard moves': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      callers: [writes([['s1'], ['n1']]), asks(NEAR_OR_SAME, scatter(NEAR_OR_SAME))],
      others: [nearMover(g, { bucket: 'same', indexes, upTo: 'after' })],
    }),
    guards: ['commitsAreFenced', 'readersAreAwaited'],
  },
  'another bucket moves while shards are read, with shard B first': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      callers: [writes([['s1'], ['n1']]), asks(NEAR_OR_SAME, backward(NEAR_OR_SAME))],
      others: [nearMover(g, { bucket: 'same', indexes, upTo: 'after' })],
    }),
    guards: ['otherRowsStay'],
  },
  'another bucket comes to the shard of the entity': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      world: { phases: { same: 'after' } },
      callers: [writes([['s1'], ['n1'], ['s1']]), asks(NEAR_OR_SAME, scatter(NEAR_OR_SAME))],
      others: [nearMover(g, { bucket: 'same', indexes, upTo: 'after, back' })],
    }),
    guards: ['otherRowsStay'],
  },
  'another bucket comes while shards are read, with shard B first': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      world: { phases: { same: 'after' } },
      callers: [writes([['s1'], ['n1'], ['s1']]), asks(NEAR_OR_SAME, backward(NEAR_OR_SAME))],
      others: [nearMover(g, { bucket: 'same', indexes, upTo: 'after, back' })],
    }),
    guards: ['otherRowsStay'],
  },
  'the move of another bucket is undone': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      callers: [writes([['s1'], ['n1']]), asks(NEAR_OR_SAME, scatter(NEAR_OR_SAME), { looksAt: 1 })],
      others: [nearMover(g, { bucket: 'same', indexes, upTo: 'undone' })],
    }),
    guards: [],
  },
  'the entity moves away from rows of its shard': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      world: { keys: ['s1'] },
      callers: [writes([['s2'], ['s1']]), asks(['s1', 's2'], scatter(['s1', 's2']))],
      others: [nearMover(g, { bucket: 'own', indexes, upTo: 'after' })],
    }),
    guards: [],
  },
  'a query of two catalogs beside a move': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      callers: [writes([['n2'], ['n1']]), asks(TWO_NEAR, scatter(TWO_NEAR), { looksAgain: 1 })],
      others: [nearMover(g, { bucket: 'own', indexes, upTo: 'after' })],
    }),
    guards: ['oneCatalog'],
  },
  'a query of two catalogs beside a move of another bucket': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      callers: [writes([['s1'], ['n1']]), asks(NEAR_OR_SAME, scatter(NEAR_OR_SAME), { looksAgain: 1 })],
      others: [nearMover(g, { bucket: 'same', indexes, upTo: 'after' })],
    }),
    guards: ['oneCatalog'],
  },
  'a replica beside a move': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      callers: [writes([['n2'], ['n1']]), asks(TWO_NEAR, scatter(TWO_NEAR), { replica: 0 })],
      others: [nearMover(g, { bucket: 'own', indexes, upTo: 'after' })],
    }),
    guards: [],
  },
  'a replica beside a move of another bucket': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      callers: [writes([['s1'], ['n1']]), asks(NEAR_OR_SAME, scatter(NEAR_OR_SAME), { replica: 0 })],
      others: [nearMover(g, { bucket: 'same', indexes, upTo: 'after' })],
    }),
    guards: [],
    localGuards: ['replicasShowCatalog'],
  },
  'a join of rows and entities beside a move': {
    isLarge: true,
    build: ({ g, writes, asks, indexes }) => ({
      callers: [writes([['n2'], ['n1']]), asks(TWO_NEAR, scatter(TWO_NEAR), { joins: true })],
      others: [nearMover(g, { bucket: 'own', indexes, upTo: 'after' })],
    }),
    guards: ['joinsCheckOwner'],
  },
}

import { explore, type Exploration } from '../explore.ts'
import { rowAdder, rowEmptier, rowMover, rowQuery, rowSweep, rowUndo, rowWriter } from './index-rows.ts'
import {
  missingAtPlace,
  noRowMemory,
  rowWorld,
  undoneCommit,
  type RowGuards,
  type RowProcess,
  type RowWorld,
} from './row-world.ts'

interface Course {
  readonly world?: RowWorld
  /** Processes that must end. */
  readonly callers: readonly RowProcess[]
  readonly others: readonly RowProcess[]
  readonly crashes?: number
}

export interface RowSituation {
  readonly build: (guards: RowGuards) => Course
  /** Guards that it needs: without any one of them the promise must break. */
  readonly guards: readonly (keyof RowGuards)[]
}

export const rowSituations: Readonly<Record<string, RowSituation>> = {
  'two writers flip between two keys': {
    build: (g) => ({
      callers: [rowWriter(2, g), rowWriter(1, g)],
      others: [rowMover(g)],
    }),
    guards: [
      'allWriteBeforeCopying',
      'commitsAreFenced',
      'greatestStampStays',
      'copyBeforeReads',
      'deletesCompareStamps',
    ],
  },
  'a query goes by the other catalog behind its cursor': {
    build: (g) => ({
      callers: [rowWriter(2, g), rowWriter(1, g)],
      others: [rowMover(g), rowQuery({ looksAgain: true })],
    }),
    guards: ['lostRowsStay'],
  },
  'a query stays with its catalog': {
    build: (g) => ({
      callers: [rowWriter(2, g, { on: 0, looksFirst: true })],
      others: [rowMover(g), rowQuery({ looksAt: 1 })],
    }),
    guards: ['readersAreAwaited', 'readsMoveEverywhere'],
  },
  'any process dies, and another mover goes on': {
    build: (g) => ({
      callers: [rowWriter(0, g), rowWriter(1, g)],
      others: [rowMover(g), rowMover(g)],
      crashes: 1,
    }),
    guards: ['commitsAreFenced'],
  },
  'an undo beside a move': {
    build: (g) => ({
      callers: [rowWriter(2, g)],
      others: [rowMover(g), rowUndo(g), rowQuery()],
    }),
    guards: ['undoYieldsToCommit', 'commitsAreFenced'],
  },
  'cleaners with old knowledge at both places': {
    build: (g) => ({
      callers: [rowWriter(2, g)],
      others: [rowMover(g), rowSweep(0, g), rowSweep(1, g)],
    }),
    guards: ['deletesCompareStamps'],
  },
  'a deferred row is made good': {
    build: (g) => ({
      callers: [rowWriter(2, g, { defers: true })],
      others: [rowMover(g), rowAdder('drains', g)],
    }),
    guards: ['drainsLookAgain'],
  },
  'an index is filled': {
    build: (g) => ({
      world: rowWorld({
        isReady: false,
        rows: [
          [0, 0, 0],
          [0, 0, 0],
        ],
      }),
      callers: [rowWriter(2, g)],
      others: [rowMover(g), rowAdder('fills', g)],
    }),
    guards: ['fillersLookAgain'],
  },
  'a bucket goes and comes back while its old rows are deleted': {
    build: (g) => ({
      callers: [rowWriter(2, g)],
      others: [rowMover(g, { upTo: 'after, back' }), rowEmptier(g)],
    }),
    guards: ['discardsAreFenced'],
  },
}

export function checkRows({ build }: RowSituation, guards: RowGuards): Exploration {
  const { world = rowWorld(), callers, others, crashes = 0 } = build(guards)
  return explore({
    world,
    local: noRowMemory,
    processes: [...callers, ...others],
    crashes,
    always: missingAtPlace,
    atRest(state, waiting) {
      const stuck = waiting.find((process) => process < callers.length)
      return stuck === undefined ? undoneCommit(state) : `P${stuck} waits for ever`
    },
  })
}

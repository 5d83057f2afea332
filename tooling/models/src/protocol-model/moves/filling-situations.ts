import { explore, type Exploration } from '../explore.ts'
import {
  fillWorld,
  missingRow,
  noFillMemory,
  type FillGuards,
  type FillProcess,
  type FillWorld,
} from './filling-world.ts'
import { bucketMover, filler } from './fillings.ts'

interface Course {
  readonly world?: FillWorld
  readonly fillers: readonly FillProcess[]
  readonly moves: number
}

export interface FillSituation {
  readonly build: (guards: FillGuards) => Course
  /** Guards that it needs: without any one of them the promise must break. */
  readonly guards: readonly (keyof FillGuards)[]
}

export const fillSituations: Readonly<Record<string, FillSituation>> = {
  'a bucket moves while an index is filled': {
    build: (g) => ({ fillers: [filler([1, 0], g)], moves: 1 }),
    guards: ['unreadAreRead', 'looksAtEnd', 'readsFromArrival'],
  },
  'a bucket moves there and back': {
    build: (g) => ({ fillers: [filler([0, 1], g)], moves: 2 }),
    guards: ['unreadAreRead', 'notesFirst', 'looksAtEnd', 'arrivalsAreCompared'],
  },
  'a bucket moves three times': {
    build: (g) => ({ fillers: [filler([0, 1], g)], moves: 3 }),
    guards: ['unreadAreRead', 'readsFromArrival'],
  },
  'a filler resumes at the place where another one died': {
    build: (g) => ({
      world: fillWorld({ isPast: false, place: 1, hasRead: false, ...(g.notesAreSaved && { note: 0 }) }),
      fillers: [filler([0, 1], g)],
      moves: 2,
    }),
    guards: ['notesAreSaved', 'arrivalsAreCompared'],
  },
  'two fillers work on the same parts': {
    build: (g) => ({ fillers: [filler([0, 1], g), filler([1, 0], g)], moves: 2 }),
    guards: ['unreadAreRead'],
  },
}

export function checkFilling({ build }: FillSituation, guards: FillGuards): Exploration {
  const { world = fillWorld(), fillers, moves } = build(guards)
  return explore({
    world,
    local: noFillMemory,
    processes: [...fillers, bucketMover(moves)],
    always: missingRow,
    atRest({ isReady, shards }, waiting) {
      const isServed = shards.some(({ arrival }) => arrival !== null)
      return isServed && !isReady && waiting.some((process) => process < fillers.length)
        ? 'a filling waits for ever'
        : undefined
    },
  })
}

import { explore, type Event, type Exploration } from '../explore.ts'
import {
  brokenClaim,
  claimMemoryOf,
  claimWorld,
  unclaimedAtPlace,
  type ClaimGuards,
  type ClaimProcess,
  type ClaimWorld,
} from './claim-world.ts'
import { claimFiller } from './claim-filler.ts'
import { claimer, claimMover, claimUndo, holderMoves, lateTake } from './claims.ts'

interface Course {
  readonly world?: ClaimWorld
  readonly processes: readonly ClaimProcess[]
  readonly events?: readonly Event<ClaimWorld>[]
  readonly crashes?: number
}

export interface ClaimSituation {
  readonly build: (guards: ClaimGuards) => Course
  /** Guards that it needs: without any one of them the promise must break. */
  readonly guards: readonly (keyof ClaimGuards)[]
}

const held = { entity: 0, stamp: 10 }
const heldBy0 = (): ClaimWorld => claimWorld({ entities: [true, undefined], claims: [held, null] })

export const claimSituations: Readonly<Record<string, ClaimSituation>> = {
  'an entity that has the key, and one that wants it': {
    build: (g) => ({
      world: heldBy0(),
      processes: [claimer(0, false, g), claimer(1, true, g), claimMover(g)],
    }),
    guards: ['commitsAreFenced', 'targetIsFilled', 'phasesAreAdjacent', 'holderIsRead'],
  },
  'two entities want one key': {
    build: (g) => ({
      processes: [claimer(0, true, g, { tries: 0 }), claimer(1, true, g, { tries: 0 }), claimMover(g)],
    }),
    guards: ['allClaimTwiceBeforeFilling', 'bothAreTaken', 'commitsAreFenced', 'holderIsFenced'],
  },
  'the holder gives the key up and takes it again': {
    build: (g) => ({
      world: heldBy0(),
      processes: [
        claimer(0, false, g, { tries: 0 }),
        claimer(0, true, g, { tries: 0 }),
        claimer(1, true, g, { tries: 0 }),
        claimMover(g),
      ],
    }),
    guards: ['releasesCompareStamps'],
  },
  'the holder gives the key up and releases the claim of the target first': {
    build: (g) => ({
      world: heldBy0(),
      processes: [
        claimer(0, false, g, { tries: 0, releases: 'in reverse' }),
        claimer(0, true, g, { tries: 0 }),
        claimer(1, true, g, { tries: 0 }),
        claimMover(g),
      ],
    }),
    guards: ['releasesCompareStamps'],
  },
  'any process dies': {
    build: (g) => ({
      processes: [claimer(0, true, g, { tries: 0 }), claimer(1, true, g, { tries: 0 }), claimMover(g)],
      crashes: 1,
    }),
    guards: ['holderIsFenced'],
  },
  'two movers work at once': {
    build: (g) => ({
      processes: [
        claimer(0, true, g, { tries: 0 }),
        claimer(1, true, g, { tries: 0 }),
        claimMover(g),
        claimMover(g),
      ],
    }),
    guards: ['commitsAreFenced'],
  },
  'an undo beside a move': {
    build: (g) => ({
      world: heldBy0(),
      processes: [claimer(0, false, g), claimer(1, true, g), claimMover(g), claimUndo],
    }),
    guards: ['commitsAreFenced'],
  },
  'dead claims at both places': {
    build: (g) => ({
      world: claimWorld({
        entities: [undefined, false, undefined],
        claims: [
          { entity: 1, stamp: 25 },
          { entity: 2, stamp: 35 },
        ],
      }),
      processes: [claimer(0, true, g), claimer(2, true, g), claimMover(g)],
    }),
    guards: ['holderIsFenced'],
  },
  'the bucket of the holder moves, too': {
    build: (g) => ({
      world: heldBy0(),
      processes: [claimer(0, false, g), claimer(1, true, g), claimMover(g)],
      events: [holderMoves],
    }),
    guards: ['holderIsReadAtOwner'],
  },
  'a take arrives late at the target': {
    build: (g) => ({
      world: claimWorld({ entities: [undefined, false, undefined] }),
      processes: [claimer(0, true, g, { tries: 0 }), claimer(2, true, g, { tries: 0 }), claimMover(g)],
      events: [lateTake],
    }),
    guards: ['fillingTakesOver'],
  },
  'three entities want one key': {
    build: (g) => ({
      world: claimWorld({ entities: [undefined, undefined, undefined], phase: 'both' }),
      processes: [0, 1, 2].map((entity) => claimer(entity, true, g, { tries: 0 })).concat([claimMover(g)]),
    }),
    guards: ['swapsCompareStamps'],
  },
  'claims are filled while an entity wants the key': {
    build: (g) => ({
      world: claimWorld({ entities: [true, undefined], isReady: false }),
      processes: [claimer(1, true, g, { tries: 0 }), claimMover(g), claimFiller(g)],
    }),
    guards: ['fillersLookAgain', 'targetIsFilled'],
  },
  'claims are filled while the holder gives the key up': {
    build: (g) => ({
      world: claimWorld({ entities: [true, undefined], isReady: false }),
      processes: [
        claimer(0, false, g, { tries: 0 }),
        claimer(1, true, g, { tries: 0 }),
        claimMover(g),
        claimFiller(g),
      ],
    }),
    guards: ['commitsAreFenced'],
  },
  'claims are filled after a move was announced': {
    build: (g) => ({
      world: claimWorld({ entities: [true, undefined], isReady: false, phase: 'both', isFilled: true }),
      processes: [claimer(1, true, g, { tries: 0 }), claimMover(g), claimFiller(g)],
    }),
    guards: ['fillersTakeBoth'],
  },
  'claims are filled although two entities have the key': {
    build: (g) => ({
      world: claimWorld({ entities: [true, true], isReady: false }),
      processes: [claimer(0, false, g, { tries: 0 }), claimMover(g), claimFiller(g)],
    }),
    guards: ['duplicatesAreCounted'],
  },
}

export function checkClaims({ build }: ClaimSituation, guards: ClaimGuards): Exploration {
  const { world = claimWorld(), processes, events = [], crashes = 0 } = build(guards)
  return explore({
    world,
    local: () => claimMemoryOf(world),
    processes,
    events,
    crashes,
    always: brokenClaim,
    atRest: unclaimedAtPlace,
  })
}

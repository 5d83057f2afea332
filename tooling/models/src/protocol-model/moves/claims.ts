import type { Event, StepResult } from '../explore.ts'
import { CLAIM_PHASES, nextVersion, PLACES, shardOf } from './claim-world.ts'
import type {
  ClaimGuards,
  ClaimMemory,
  ClaimPhase,
  ClaimProcess,
  ClaimStep,
  ClaimWorld,
  PlacedClaim,
  Place,
} from './claim-world.ts'

export interface ClaimerOptions {
  /** Restarts after a conflict. Default: 1. */
  readonly tries?: number
  /** Order in which it releases the claims. Default: as they are taken. */
  readonly releases?: 'in order' | 'in reverse'
}

/** Writes an entity with the key, or without it. */
export function claimer(
  entity: number,
  wants: boolean,
  guards: ClaimGuards,
  { tries = 1, releases = 'in order' }: ClaimerOptions = {},
): ClaimProcess {
  const places = ({ known }: ClaimMemory): readonly Place[] => {
    const all = PLACES[known.phase]
    return guards.bothAreTaken ? all : all.slice(-1)
  }
  const again = (local: ClaimMemory, label: string): StepResult => {
    Object.assign(local, { other: null, otherVersion: 0 })
    return local.tries++ < tries ? { goto: label } : 'end'
  }
  const taken = (local: ClaimMemory): StepResult => {
    Object.assign(local, { other: null, otherVersion: 0, place: local.place + 1 })
    return { goto: local.place < places(local).length ? 'takes the claim' : 'commits' }
  }
  return [
    {
      label: 'reads the entity',
      run(world, local, process) {
        const { version: base, hasKey: old } = world.entities[entity]!
        Object.assign(local, { base, old, version: nextVersion(base, process), place: 0 })
        return wants && !old ? undefined : { goto: 'commits' }
      },
    },
    {
      label: 'takes the claim',
      run({ claims }, local) {
        const place = places(local)[local.place]!
        const claim = claims[place]
        if (claim === null || claim.entity === entity) {
          claims[place] = { entity, stamp: Math.max(claim?.stamp ?? 0, local.version) }
          return taken(local)
        }
        local.other = claim
        return undefined
      },
    },
    {
      label: 'reads the holder',
      run(world, local) {
        const { entity: holder, stamp } = local.other!
        const now = world.entities[holder]!
        const isMoved = holder === 0 && world.leftBehind !== null && !guards.holderIsReadAtOwner
        const seen = isMoved ? world.leftBehind! : now
        if (seen.hasKey || !guards.holderIsRead) {
          if (!now.hasKey) world.wrong = 'a claim of an entity without the key refuses another one'
          return 'end'
        }
        local.otherVersion = now.version
        return stamp > now.version && guards.holderIsFenced ? undefined : { goto: 'takes the claim over' }
      },
    },
    {
      label: 'fences the holder off',
      run({ entities }, local, process) {
        const { entity: holder, stamp } = local.other!
        const row = entities[holder]!
        if (row.version !== local.otherVersion) return again(local, 'takes the claim')
        row.version = nextVersion(Math.max(row.version, stamp), process)
        return undefined
      },
    },
    {
      label: 'takes the claim over',
      run({ claims }, local) {
        const place = places(local)[local.place]!
        if (!isClaim(claims[place], local.other!, guards)) return again(local, 'takes the claim')
        claims[place] = { entity, stamp: local.version }
        return taken(local)
      },
    },
    {
      label: 'commits',
      run(world, local) {
        if (guards.commitsAreFenced && world.catalogs[shardOf(entity)].epoch !== local.known.epoch)
          return { goto: 'reads the catalog' }
        const row = world.entities[entity]!
        if (row.version !== local.base) return again(local, 'reads the entity')
        Object.assign(row, { version: local.version, hasKey: wants })
        return local.old && !wants ? { goto: 'releases a claim' } : 'end'
      },
    },
    {
      label: 'reads the catalog',
      run({ catalogs }, local) {
        const { tries: tried } = local
        Object.assign(local, { ...NOTHING, known: { ...catalogs[shardOf(entity)] }, tries: tried })
        return { goto: 'reads the entity' }
      },
    },
    ...[0, 1].map((turn): ClaimStep => ({
      label: turn === 0 ? 'releases a claim' : 'releases the other claim',
      run({ claims }, local) {
        const all = PLACES[local.known.phase]
        const place = (releases === 'in order' ? all : all.toReversed())[turn]
        const claim = place === undefined ? null : claims[place]
        const isOlder = claim !== null && (claim.stamp < local.version || !guards.releasesCompareStamps)
        if (claim?.entity === entity && isOlder) claims[place!] = null
        return turn === 0 ? undefined : 'end'
      },
    })),
  ]
}

const NOTHING: Partial<ClaimMemory> = {
  base: 0,
  old: false,
  version: 0,
  place: 0,
  other: null,
  otherVersion: 0,
}

const isClaim = (
  claim: PlacedClaim | null,
  { entity, stamp }: PlacedClaim,
  { swapsCompareStamps }: ClaimGuards,
): boolean => claim?.entity === entity && (!swapsCompareStamps || claim.stamp === stamp)

/**
 * Publishes phase by phase, as the mover of index rows does. In the phase `both` it takes the claim of the source's holder at the target, if
 * the holder is committed with the key.
 */
export function claimMover(guards: ClaimGuards): ClaimProcess {
  const anew = (local: ClaimMemory): StepResult => {
    Object.assign(local, NOTHING)
    return { goto: 'reads the claim at the source' }
  }
  const filled = (world: ClaimWorld, local: ClaimMemory): StepResult => {
    if (world.catalogs[0].epoch === local.known.epoch) world.filled = local.known.epoch
    Object.assign(local, NOTHING)
    return { goto: 'reads the leading catalog' }
  }
  return [
    {
      label: 'reads the leading catalog',
      run: ({ catalogs: [leading] }, local) => void (local.known = { ...leading }),
    },
    {
      label: 'copies it to the other shard',
      run({ catalogs: [, catalog] }, { known }) {
        if (known.phase === 'both' && !guards.allClaimTwiceBeforeFilling) return
        if (catalog.epoch < known.epoch) Object.assign(catalog, known)
      },
    },
    {
      label: 'publishes the next phase',
      run(world, { known: { phase, epoch } }) {
        if (phase === 'after' || phase === 'undoing' || phase === 'undone') return 'end'
        if (phase === 'both' && world.filled !== epoch && guards.targetIsFilled) return undefined
        const next = guards.phasesAreAdjacent ? CLAIM_PHASES[CLAIM_PHASES.indexOf(phase) + 1]! : 'after'
        publish(world, epoch, next)
        return { goto: 'reads the leading catalog' }
      },
    },
    {
      label: 'reads the claim at the source',
      run(world, local) {
        const [claim] = world.claims
        if (claim === null) return filled(world, local)
        local.base = claim.entity
        return undefined
      },
    },
    {
      label: 'reads the entity of the claim',
      run(world, local) {
        const { version, hasKey } = world.entities[local.base]!
        if (!hasKey) return filled(world, local)
        local.version = version
        return undefined
      },
    },
    {
      label: 'takes its claim at the target',
      run(world, local) {
        const { base: entity, version } = local
        const claim = world.claims[1]
        if (claim === null || claim.entity === entity) {
          world.claims[1] = { entity, stamp: Math.max(claim?.stamp ?? 0, version) }
          return filled(world, local)
        }
        if (!guards.fillingTakesOver) return filled(world, local)
        local.other = claim
        return undefined
      },
    },
    {
      label: 'reads the holder at the target',
      run({ entities }, local) {
        const { version, hasKey } = entities[local.other!.entity]!
        if (hasKey) return anew(local)
        local.otherVersion = version
        return local.other!.stamp > version ? undefined : { goto: 'takes its claim at the target over' }
      },
    },
    {
      label: 'fences that holder off',
      run({ entities }, local, process) {
        const row = entities[local.other!.entity]!
        if (row.version !== local.otherVersion) return anew(local)
        row.version = nextVersion(Math.max(row.version, local.other!.stamp), process)
        return undefined
      },
    },
    {
      label: 'takes its claim at the target over',
      run(world, local) {
        if (!isClaim(world.claims[1], local.other!, guards)) return anew(local)
        world.claims[1] = { entity: local.base, stamp: local.version }
        return filled(world, local)
      },
    },
  ]
}

function publish({ catalogs: [leading] }: ClaimWorld, from: number, phase: ClaimPhase): void {
  if (leading.epoch === from) Object.assign(leading, { epoch: from + 1, phase })
}

/** Undoes a move that is at the phase `both`. */
export const claimUndo: ClaimProcess = [
  {
    label: 'announces the undo',
    run(world) {
      const [leading] = world.catalogs
      if (leading.phase === 'before') return 'blocked'
      if (leading.phase !== 'both') return 'end'
      publish(world, leading.epoch, 'undoing')
      return undefined
    },
  },
  {
    label: 'copies the undo to the other shard',
    run({ catalogs: [leading, catalog] }) {
      if (catalog.epoch < leading.epoch) Object.assign(catalog, leading)
    },
  },
  { label: 'removes the move', run: (world) => void publish(world, world.catalogs[0].epoch, 'undone') },
]

/** The bucket of entity 0 moves. Its row stays as it is on the shard that it has left. */
export const holderMoves: Event<ClaimWorld> = {
  label: 'entity 0 moves to another shard',
  possible: () => true,
  happen: (world) => void (world.leftBehind = { ...world.entities[0]! }),
}

/** A take of an attempt of entity 1 that has long lost arrives at the target. */
export const lateTake: Event<ClaimWorld> = {
  label: 'a take of entity 1 arrives late',
  possible: ({ claims }) => claims[1] === null,
  happen: ({ claims }) => void (claims[1] = { entity: 1, stamp: 5 }),
}

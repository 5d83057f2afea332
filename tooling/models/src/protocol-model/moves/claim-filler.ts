import type { StepResult } from '../explore.ts'
import { nextVersion, PLACES } from './claim-world.ts'
import type { ClaimGuards, ClaimMemory, ClaimProcess, ClaimWorld, Place } from './claim-world.ts'

/** Takes the claims of all entities that are committed with the key, and says that the claims are ready if each has its own. */
export function claimFiller(guards: ClaimGuards): ClaimProcess {
  const places = ({ known }: ClaimMemory): readonly Place[] =>
    guards.fillersTakeBoth ? PLACES[known.phase] : PLACES[known.phase].slice(0, 1)
  const next = ({ entities }: ClaimWorld, local: ClaimMemory): StepResult => {
    Object.assign(local, { other: null, otherVersion: 0 })
    if (++local.place < places(local).length) return { goto: 'takes its claim' }
    Object.assign(local, { base: local.base + 1, place: 0, version: 0 })
    return { goto: local.base < entities.length ? 'reads an entity' : 'looks at the catalog again' }
  }
  const again = (local: ClaimMemory): StepResult => {
    Object.assign(local, { other: null, otherVersion: 0 })
    return { goto: 'takes its claim' }
  }
  return [
    {
      label: 'reads an entity',
      run(world, local) {
        const { version, hasKey } = world.entities[local.base]!
        local.version = version
        if (hasKey) return undefined
        local.place = places(local).length
        return next(world, local)
      },
    },
    {
      label: 'takes its claim',
      run(world, local) {
        const place = places(local)[local.place]!
        const { base: entity, version } = local
        const claim = world.claims[place]
        if (claim !== null && claim.entity !== entity) {
          local.other = claim
          return undefined
        }
        world.claims[place] = { entity, stamp: Math.max(claim?.stamp ?? 0, version) }
        return next(world, local)
      },
    },
    {
      label: 'reads the other holder',
      run(world, local) {
        const { entity, stamp } = local.other!
        const { version, hasKey } = world.entities[entity]!
        if (hasKey) {
          local.duplicate = true
          return next(world, local)
        }
        local.otherVersion = version
        return stamp > version ? undefined : { goto: 'takes that claim over' }
      },
    },
    {
      label: 'fences the other holder off',
      run(world, local, process) {
        const row = world.entities[local.other!.entity]!
        if (row.version !== local.otherVersion) return again(local)
        row.version = nextVersion(Math.max(row.version, local.other!.stamp), process)
        return undefined
      },
    },
    {
      label: 'takes that claim over',
      run(world, local) {
        const place = places(local)[local.place]!
        const claim = world.claims[place]
        if (claim?.entity !== local.other!.entity || claim.stamp !== local.other!.stamp) return again(local)
        world.claims[place] = { entity: local.base, stamp: local.version }
        return next(world, local)
      },
    },
    {
      label: 'looks at the catalog again',
      run({ catalogs: [, catalog] }, local) {
        if (!guards.fillersLookAgain || catalog.epoch === local.known.epoch) return undefined
        Object.assign(local, { known: { ...catalog }, base: 0, place: 0, duplicate: false })
        return { goto: 'reads an entity' }
      },
    },
    {
      label: 'says that the claims are ready',
      run(world, { duplicate }) {
        if (!duplicate || !guards.duplicatesAreCounted) world.isReady = true
      },
    },
  ]
}

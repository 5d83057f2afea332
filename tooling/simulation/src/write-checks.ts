import type { EntityId, LooseleafError } from '@looseleaf/core'
import type { Acknowledgements } from './acknowledgements.ts'
import type { Evidence, Operation } from './evidence.ts'
import { keysIn } from './indexes.ts'

/** What processes are told of their writes. */
export interface WriteChecks {
  /** Looks at the databases; after each thing that happened. */
  observe(): void
  /** A write was acknowledged with this version, and was to replace `base` if it said so. */
  acknowledged(operation: Operation, id: EntityId, version: number, base?: number): void
  /** A delete answered whether the entity was there. */
  deleted(operation: Operation, id: EntityId, wasThere: boolean): void
  /** A write failed, and it was said that it did not take place. */
  failed(operation: Operation): void
  /** A write was refused, because this entity has a key of this index that it was to have. */
  refused(operation: Operation, refusal: Pick<LooseleafError, 'index' | 'holder'>): void
}

export function createWriteChecks(
  { check, states, counts, during }: Evidence,
  acknowledgements: Acknowledgements,
): WriteChecks {
  const definitelyFailed = new Set<number>()

  return {
    observe() {
      for (const { id, version, bag, before } of states.observe()) {
        if (before > 0) check('versions of an entity grow', before > version && `${id} went back to an earlier version`)
        const by = Number(bag?.['by'] ?? 0)
        if (definitelyFailed.has(by))
          check('a failed write never takes place', `operation ${by} failed and took place`)
      }
    },

    acknowledged(operation, id, version, base) {
      counts.acknowledged++
      if (version === 0) return
      const before = states.before(id, version)
      check(
        'an acknowledged write was committed',
        before === undefined && `version ${version} of ${id} was acknowledged and never committed`,
      )
      if (before === undefined) return
      if (base !== undefined) {
        check(
          'a conditional write replaces the version that it expects',
          base !== (before.bag === null ? 0 : before.version) &&
            `version ${version} of ${id} replaced another version than the one it was to replace`,
        )
      }
      acknowledgements.add(id, version, operation)
    },

    deleted(operation, id, wasThere) {
      const possible = during(operation, id)
      const tombstones = possible.slice(1).filter(({ bag }) => bag === null)
      check(
        'a delete reports correctly whether it deleted the entity',
        wasThere && tombstones.length === 0 && `${id} was said to be deleted and was not`,
        !wasThere && possible.every(({ bag }) => bag !== null) && `${id} was there and was not deleted`,
      )
      // Which one is its own it does not say; the best of them has to last.
      const lasting = tombstones.filter(({ version }) => !states.isLost(id, version))
      const [tombstone] = lasting.length > 0 ? lasting : tombstones
      if (wasThere && tombstone !== undefined && tombstone.version > 0)
        acknowledgements.add(id, tombstone.version, operation)
    },

    failed({ number }) {
      counts.failed++
      definitelyFailed.add(number)
      check(
        'a failed write never takes place',
        states.wasCommittedBy(number) && `operation ${number} was reported as failed and took place`,
      )
    },

    refused(operation, { index = '', holder = '' }) {
      const wanted = new Set(operation.wanted && keysIn(index, operation.wanted))
      const had = during(operation, holder).some(
        ({ bag }) => bag !== null && keysIn(index, bag).some((key) => wanted.has(key)),
      )
      check(
        'a refusal names an entity that has the key',
        !had &&
          `operation ${operation.number} was refused a key of ${index} that ${holder} never had meanwhile`,
      )
    },
  }
}

import { building } from './build.ts'
import { calls } from './calls.ts'
import { following } from './changes.ts'
import { importing } from './import.ts'
import { network } from './network.ts'
import { observing } from './observing.ts'
import type { Part } from './part.ts'
import type { PartName } from './part-names.ts'
import { profiling } from './profile.ts'
import { sweeping } from './sweep.ts'
import { bags, callers, entities, indexes, processes, rates, shards, sqlite } from './usual-parts.ts'

/** All parts, in the order in which they run. */
export const parts: Readonly<Record<PartName, Part>> = {
  calls,
  callers,
  processes,
  bags,
  network,
  rates,
  entities,
  shards,
  indexes,
  sqlite,
  import: importing,
  build: building,
  sweep: sweeping,
  changes: following,
  observing,
  profile: profiling,
}

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

/** Folder for the temporary files of the run; undefined for that of the system. */
export type TemporaryFolder = string | undefined

declare module 'vitest' {
  export interface ProvidedContext {
    temporaryFolder: TemporaryFolder
  }
}

/** Folder of Linux whose files are in memory, where a flush takes no time. Containers often have 64 MiB of it. */
const MEMORY = '/dev/shm'
const ROOM_BYTES = 4 * 2 ** 30

/** State that all projects of a run share. A global, because each project loads this module separately. */
interface Shared {
  users: number
  readonly folder: string | undefined
}

const holder = globalThis as { [shared]?: Shared | undefined }
const shared: unique symbol = Symbol.for('@looseleaf-tooling/vitest/temporary-folder') as typeof shared

/**
 * Runs once per project, in the process that drives the workers. Moves the temporary files of tests into memory if it has
 * room, because each commit to a SQLite file waits for a flush. Removes them after the run, also those of killed tests.
 */
export default function setup(project: TestProject): () => void {
  const state = (holder[shared] ??= { users: 0, folder: makeFolder() })
  state.users++
  project.provide('temporaryFolder', state.folder)
  return () => {
    if (--state.users > 0) return
    holder[shared] = undefined
    if (state.folder !== undefined) rmSync(state.folder, { recursive: true, force: true })
  }
}

function makeFolder(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    if (bavail * bsize < ROOM_BYTES) return undefined
    const folder = mkdtempSync(join(MEMORY, 'looseleaf-tests-'))
    // Some database servers run as another user, and own folders below this one.
    chmodSync(folder, 0o711)
    if (canExecute(folder)) return folder
    rmSync(folder, { recursive: true })
  } catch {
    // Other systems have no such folder.
  }
  return undefined
}

/** Tells whether programs in a folder can be started. Some tests write one. */
function canExecute(folder: string): boolean {
  const program = join(folder, 'program')
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 })
  const { status } = spawnSync(program)
  rmSync(program)
  return status === 0
}

import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A file system in memory, where a flush costs nothing. With databases on a disk some tests take four times
 * as long.
 */
const IN_MEMORY = '/dev/shm'

/**
 * Moves temporary files of this process, and of processes that it starts from now on, into a folder in
 * memory. Returns a function that deletes the folder, including leftovers of killed tests. Does nothing if
 * the machine has no such file system.
 */
export function keepScratchInMemory(): () => void {
  try {
    accessSync(IN_MEMORY, constants.W_OK)
  } catch {
    return () => undefined
  }
  const before = process.env['TMPDIR']
  const folder = mkdtempSync(join(IN_MEMORY, 'looseleaf-mutants-'))
  process.env['TMPDIR'] = folder
  return () => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    rmSync(folder, { recursive: true, force: true })
  }
}

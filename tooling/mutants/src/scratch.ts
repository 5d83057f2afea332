import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Files there are in memory, where a flush costs nothing: databases on a disk make some tests four times as long. */
const IN_MEMORY = '/dev/shm'

/**
 * Temporary files of this process, and of those that it starts from now on, go to a folder of their own, which the answer
 * deletes with all that tests have left there when they were killed. Where there is no memory for files it changes nothing.
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

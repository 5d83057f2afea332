import { open, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'

/** What is made here is for the user who makes it, and for nobody else. Windows has no such modes. */
export const FOLDER_MODE = 0o700
export const FILE_MODE = 0o600

/** Of users who are neither the owner nor of its group. */
const OTHERS = { read: 0o004, write: 0o002, enter: 0o001 }

/** Makes an empty file, which is an empty database, unless it is there. SQLite gives its mode to the files beside it. */
export async function makeFile(file: string): Promise<void> {
  // Where it cannot be made, SQLite cannot open it either, and says why.
  const made = await open(file, 'wx', FILE_MODE).catch(() => undefined)
  await made?.close()
}

/** Warns of a database that every user of the machine can read or change. Modes of what was there before are left alone. */
export async function modeWarnings(file: string): Promise<readonly string[]> {
  if (process.platform === 'win32') return []
  const folder = await modeOf(dirname(file))
  const modes = await Promise.all([file, `${file}-wal`, `${file}-shm`].map(modeOf))
  const others = modes.reduce((all, mode) => all | mode, 0)
  if ((folder & OTHERS.enter) === 0 || (others & (OTHERS.read | OTHERS.write)) === 0) return []
  const what = (others & OTHERS.write) === 0 ? 'read' : 'change'
  return [
    `every user of this machine can ${what} the file; \`chmod 600 ${basename(file)}*\` in its folder makes it private.`,
  ]
}

/** 0 for what is not there. */
async function modeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mode ?? 0
}

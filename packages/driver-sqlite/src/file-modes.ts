import { access, constants, open, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'

/** Modes of new folders and files: only their owner may use them. Windows has no such modes. */
export const FOLDER_MODE = 0o700
export const FILE_MODE = 0o600

/** Mode bits of users who are neither the owner nor in the group. */
const OTHERS = { read: 0o004, write: 0o002, enter: 0o001 }

/** Creates an empty file, which is an empty database, if it is missing. SQLite gives its mode to `-wal` and `-shm`. */
export async function makeFile(file: string): Promise<void> {
  // If this fails, SQLite fails to open the file too, and its error tells why.
  const created = await open(file, 'wx', FILE_MODE).catch(() => undefined)
  await created?.close()
}

export async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false
}

/** Tells whether there is a folder of this path, in which this process may create files. */
export async function takesFiles(path: string): Promise<boolean> {
  return access(path, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
}

/** Returns a warning if every user of the machine can read or change the database. */
export async function modeWarnings(file: string): Promise<readonly string[]> {
  if (process.platform === 'win32') return []
  const folder = await modeOf(dirname(file))
  const modes = await Promise.all([file, `${file}-wal`, `${file}-shm`].map(modeOf))
  const others = modes.reduce((all, mode) => all | mode, 0)
  if ((folder & OTHERS.enter) === 0 || (others & (OTHERS.read | OTHERS.write)) === 0) return []
  const verb = (others & OTHERS.write) === 0 ? 'read' : 'change'
  return [
    `every user of this machine can ${verb} the file; \`chmod 600 ${basename(file)}*\` in its folder makes it private.`,
  ]
}

/** Returns the mode of a file or folder; 0 if it is missing. */
async function modeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mode ?? 0
}

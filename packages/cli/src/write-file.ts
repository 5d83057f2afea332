import { createWriteStream, type Stats } from 'node:fs'
import { chmod, realpath, rename, rm, stat } from 'node:fs/promises'
import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { finished } from 'node:stream/promises'
import { LooseleafError } from '@looseleaf/core'
import { OutputError } from './output-error.ts'

/** Takes the next piece of text; resolves when the file is ready for more. */
export type Write = (text: string) => Promise<void>

/**
 * Writes a file as a whole or not at all: beside it first, under a name that ends with `.part`, which takes its place, and
 * its mode, when `produce` is through. What was there stays until then, and for good when anything fails. A pipe or a device
 * is written to directly.
 */
export async function writeFile<T>(path: string, produce: (write: Write) => Promise<T>): Promise<T> {
  // What a link points to is written; the link stays.
  const file = await realpath(path).catch(() => path)
  const before = await stat(file).catch(() => undefined)
  if (before?.isDirectory()) {
    throw new LooseleafError('BAD_OPTION', `${path} is a folder; the name of a file is needed.`)
  }
  if (before !== undefined && !before.isFile()) return stream(path, file, 'w', produce)
  const part = `${file}.${randomBytes(4).toString('hex')}.part`
  try {
    const result = await stream(path, part, 'wx', produce)
    await takeItsPlace(part, file, before)
    return result
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

async function takeItsPlace(part: string, file: string, before: Stats | undefined): Promise<void> {
  if (before !== undefined) await chmod(part, before.mode & 0o7777)
  await rename(part, file)
}

async function stream<T>(
  path: string,
  file: string,
  flags: 'w' | 'wx',
  produce: (write: Write) => Promise<T>,
): Promise<T> {
  // A regular file is on disk before it takes the place of another one.
  const target = createWriteStream(file, { flags, flush: flags === 'wx' })
  const opened = once(target, 'open')
  const done = finished(target).catch((error: NodeJS.ErrnoException) => {
    throw new OutputError(path, error)
  })
  // It is awaited below; until then an error of the file has to wait without ending the process.
  done.catch(() => undefined)
  try {
    await opened.catch((cause: unknown) => {
      const { code } = cause as NodeJS.ErrnoException
      throw new LooseleafError('BAD_OPTION', `${path} cannot be written (${code}).`, { cause })
    })
    const result = await produce(async (text) => {
      if (!target.write(text)) await Promise.race([once(target, 'drain'), done])
    })
    target.end()
    await done
    return result
  } finally {
    target.destroy()
  }
}

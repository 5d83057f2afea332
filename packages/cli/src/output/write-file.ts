import { createWriteStream } from 'node:fs'
import { chmod, realpath, rename, rm, stat } from 'node:fs/promises'
import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { finished } from 'node:stream/promises'
import { LooseleafError } from '@looseleaf/core'
import { badOption } from '@looseleaf/core/internal'
import { OutputError } from './output-error.ts'

/** Writes the next piece of text. Resolves when the file accepts more. */
export type Write = (text: string) => Promise<void>

/**
 * Writes a file completely or not at all. The text first goes to a file beside it whose name ends with `.part`. When
 * `produce` has resolved, that file takes over the mode of the old file and replaces it. After an error the old file is
 * unchanged and the `.part` file is removed. A pipe or a device is written directly.
 */
export async function writeFile<T>(path: string, produce: (write: Write) => Promise<T>): Promise<T> {
  // A link stays; its target is replaced.
  const file = await realpath(path).catch(() => path)
  const before = await stat(file).catch(() => undefined)
  if (before?.isDirectory()) {
    throw badOption(`${path} is a folder; the name of a file is needed.`)
  }
  if (before !== undefined && !before.isFile()) return stream(path, file, 'w', produce)
  const part = `${file}.${randomBytes(4).toString('hex')}.part`
  try {
    const result = await stream(path, part, 'wx', produce)
    if (before !== undefined) await chmod(part, before.mode & 0o7777)
    await rename(part, file)
    return result
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

async function stream<T>(
  path: string,
  file: string,
  flags: 'w' | 'wx',
  produce: (write: Write) => Promise<T>,
): Promise<T> {
  // A regular file must be durable before it replaces another one.
  const target = createWriteStream(file, { flags, flush: flags === 'wx' })
  const opened = once(target, 'open')
  const done = finished(target).catch((error: NodeJS.ErrnoException) => {
    throw new OutputError(path, error)
  })
  // `done` is awaited below. Without a handler, a rejection before that would end the process.
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

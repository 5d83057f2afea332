import { LooseleafError } from '@looseleaf/core'
import { messageOf } from '@looseleaf/core/internal'
import type { DamagedEntity } from '@looseleaf/store'
import { createHash } from 'node:crypto'
import { mkdir, open, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Writes the stored body of an entity to a file in the folder, and the rest of its row to a second file with `.json` added
 * to the name. Returns the first file. Both are durable when the promise resolves. The name contains version and checksum,
 * so an existing file is only replaced by the same bytes. Throws `BAD_OPTION`.
 */
export async function exportBody(
  folder: string,
  { id, version, updated, shard, body, error }: DamagedEntity,
): Promise<string> {
  const sha256 = createHash('sha256')
    .update(body ?? '')
    .digest('hex')
  const file = join(folder, `${id}-${version}-${sha256.slice(0, 8)}.body`)
  const row = {
    id,
    idHex: id.replaceAll('-', ''),
    version,
    updated: updated.toISOString(),
    shard,
    bodyBytes: body?.length ?? null,
    sha256,
    code: error.code,
    message: error.message,
  }
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeDurably(file, body ?? '')
    await writeDurably(`${file}.json`, `${JSON.stringify(row, undefined, 2)}\n`)
    await syncFolder(folder)
  } catch (cause) {
    const reason = messageOf(cause)
    throw new LooseleafError('BAD_OPTION', `Entity ${id} cannot be exported to ${folder}: ${reason}.`, {
      cause,
    })
  }
  return file
}

/** Writes a file that only the user can read, completely or not at all. */
async function writeDurably(file: string, content: Uint8Array | string): Promise<void> {
  const unfinished = `${file}.part`
  await writeFile(unfinished, content, { mode: 0o600, flush: true })
  await rename(unfinished, file)
}

/** Makes the names of the folder's files durable. */
async function syncFolder(folder: string): Promise<void> {
  const directory = await open(folder)
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

import type { FastifyRequest } from 'fastify'
import type { FileToImport } from '../import/import-file.ts'
import { LARGEST_FILE } from '../import/limits.ts'
import { forgedForm, Problem } from './problem.ts'

/** A form as it was sent: the first value of each field, and the files. */
export interface SentForm {
  readonly fields: Readonly<Record<string, string>>
  readonly files: readonly FileToImport[]
}

/** Files of one form together, in bytes. */
const LARGEST_UPLOAD = 32 * 1024 * 1024
export const MOST_FILES = 10

/** The fields of an url-encoded form. */
export function readFields(body: unknown): Record<string, string> {
  const fields: Record<string, string> = {}
  if (typeof body !== 'object' || body === null) return fields
  for (const [name, value] of Object.entries(body)) {
    const first: unknown = Array.isArray(value) ? value[0] : value
    if (typeof first === 'string') fields[name] = cleanField(first)
  }
  return fields
}

/** Browsers send line ends as CR LF and count them as one character against `maxlength`. */
function cleanField(text: string): string {
  return text.replace(/\r\n?/g, '\n').toWellFormed()
}

/**
 * Reads a form with files into memory. The token comes before the files in every form of this site, so a form without
 * a right one is refused before any file is read.
 */
export async function readUpload(
  request: FastifyRequest,
  isToken: (token: string | undefined) => boolean,
): Promise<SentForm> {
  try {
    return await readParts(request, isToken)
  } catch (error) {
    // What is left of a form that is refused is read and thrown away: a browser reuses the connection.
    request.raw.unpipe()
    request.raw.resume()
    if (error instanceof Error && 'code' in error && error.code === 'FST_FILES_LIMIT')
      throw tooMuch(`These are more than ${MOST_FILES} files. Import them a few at a time.`)
    // The parser of forms has no status for what breaks off, or is no form at all.
    if (error instanceof Error && !(error instanceof Problem) && !('statusCode' in error)) throw brokenForm()
    throw error
  }
}

async function readParts(
  request: FastifyRequest,
  isToken: (token: string | undefined) => boolean,
): Promise<SentForm> {
  const fields: Record<string, string> = {}
  const files: FileToImport[] = []
  let bytes = 0
  const limits = { fileSize: LARGEST_FILE + 1, files: MOST_FILES, fields: 20, fieldSize: 10_000, parts: 40 }
  for await (const part of request.parts({ limits })) {
    if (part.type === 'field') {
      if (typeof part.value === 'string') fields[part.fieldname] ??= cleanField(part.value)
      continue
    }
    if (!isToken(fields['token'])) throw forgedForm()
    const chunks: Buffer[] = []
    for await (const chunk of part.file as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > LARGEST_UPLOAD) {
        throw tooMuch('Together the files are larger than 32 MB. Import them a few at a time.')
      }
      chunks.push(chunk)
    }
    // A form whose file field was left empty sends a part without a name.
    if (part.filename !== '') files.push({ name: part.filename, bytes: Buffer.concat(chunks) })
  }
  return { fields, files }
}

function brokenForm(): Problem {
  return new Problem(
    400,
    'That did not arrive whole',
    'The form broke off, or was put together wrongly. Nothing has been changed; send it once more.',
  )
}

function tooMuch(text: string): Problem {
  return new Problem(413, 'That is too much at once', text)
}

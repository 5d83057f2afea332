import type { FastifyRequest } from 'fastify'
import type { FileToImport } from '../domain/imports/import-file.ts'
import { MAX_FILE_BYTES } from '../feeds/parse/limits.ts'
import { forgedForm, Problem } from './problem.ts'

/** A received form: the first value of each field, and the files. */
export interface SentForm {
  readonly fields: Readonly<Record<string, string>>
  readonly files: readonly FileToImport[]
}

/** Largest total size of a form's files, in bytes. */
const MAX_UPLOAD_BYTES = 32 * 1024 * 1024
export const MAX_FILES = 10

/** Reads the fields of a URL-encoded form. */
export function readFields(body: unknown): Record<string, string> {
  const fields: Record<string, string> = {}
  if (typeof body !== 'object' || body === null) return fields
  for (const [name, value] of Object.entries(body)) {
    const first: unknown = Array.isArray(value) ? value[0] : value
    if (typeof first === 'string') fields[name] = cleanField(first)
  }
  return fields
}

/** Normalizes line ends: browsers send CR LF, which `maxlength` counts as one character. */
function cleanField(text: string): string {
  return text.replace(/\r\n?/g, '\n').toWellFormed()
}

/**
 * Reads a form with files into memory. In forms of this site the token comes before the files, so a form without a valid token is
 * refused before any file is read. Throws `Problem`.
 */
export async function readUpload(
  request: FastifyRequest,
  isToken: (token: string | undefined) => boolean,
): Promise<SentForm> {
  try {
    return await readParts(request, isToken)
  } catch (error) {
    // The rest of a refused form is read and discarded, because the browser reuses the connection.
    request.raw.unpipe()
    request.raw.resume()
    if (error instanceof Error && 'code' in error && error.code === 'FST_FILES_LIMIT')
      throw tooMuch(`These are more than ${MAX_FILES} files. Import them a few at a time.`)
    // The form parser sets no status for an incomplete form, or for a body that is not a form.
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
  const limits = { fileSize: MAX_FILE_BYTES + 1, files: MAX_FILES, fields: 20, fieldSize: 10_000, parts: 40 }
  for await (const part of request.parts({ limits })) {
    if (part.type === 'field') {
      if (typeof part.value === 'string') fields[part.fieldname] ??= cleanField(part.value)
      continue
    }
    if (!isToken(fields['token'])) throw forgedForm()
    const chunks: Buffer[] = []
    for await (const chunk of part.file as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > MAX_UPLOAD_BYTES) {
        throw tooMuch('Together the files are larger than 32 MB. Import them a few at a time.')
      }
      chunks.push(chunk)
    }
    // An empty file field sends a part without a name.
    if (part.filename !== '') files.push({ name: part.filename, bytes: Buffer.concat(chunks) })
  }
  return { fields, files }
}

function brokenForm(): Problem {
  return new Problem(
    400,
    'The form arrived incomplete',
    'The form was cut off or malformed. Nothing has been changed; send it again.',
  )
}

function tooMuch(text: string): Problem {
  return new Problem(413, 'That is too much at once', text)
}

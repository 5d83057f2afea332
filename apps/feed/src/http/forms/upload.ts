import type { MultipartFile } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { MAX_FILE_BYTES } from '../../domain/imports/import-file.ts'
import { cleanField } from './clean-field.ts'
import { Problem } from '../problem.ts'

/** A received file. */
export interface UploadedFile {
  readonly name: string
  readonly bytes: Uint8Array
}

/** A form with files. Its fields were read; its files are read on demand, so that a forged form is refused before. */
export interface Upload {
  /** Fields before the first file, and all once the files are read. */
  readonly fields: Readonly<Record<string, string>>
  /** Reads the files into memory, once. Throws `Problem`. */
  readFiles(): Promise<readonly UploadedFile[]>
}

export const MAX_FILES = 10
/** Largest total size of a form's files, in bytes. */
const MAX_BYTES = 32 * 1024 * 1024

/** A file that is too large is cut after the first byte too many, and refused by name. */
const LIMITS = { fileSize: MAX_FILE_BYTES + 1, files: MAX_FILES, fields: 20, fieldSize: 10_000, parts: 40 }

/** Reads the fields of a form up to its first file. Throws `Problem`. */
export async function openUpload(request: FastifyRequest): Promise<Upload> {
  const parts = request.parts({ limits: LIMITS })
  const fields: Record<string, string> = {}
  let file: MultipartFile | undefined

  async function nextFile(): Promise<MultipartFile | undefined> {
    for (;;) {
      const { value: part } = await parts.next()
      if (part === undefined || part.type === 'file') return part
      if (typeof part.value === 'string') fields[part.fieldname] ??= cleanField(part.value)
    }
  }

  async function readFiles(): Promise<readonly UploadedFile[]> {
    const files: UploadedFile[] = []
    let bytes = 0
    for (; file !== undefined; file = await nextFile()) {
      const chunks: Buffer[] = []
      for await (const chunk of file.file as AsyncIterable<Buffer>) {
        bytes += chunk.length
        if (bytes > MAX_BYTES)
          throw tooMuch('Together the files are larger than 32 MB. Import them a few at a time.')
        chunks.push(chunk)
      }
      // An empty file field sends a part without a name.
      if (file.filename !== '') files.push({ name: file.filename, bytes: Buffer.concat(chunks) })
    }
    return files
  }

  file = await asProblem(nextFile())
  return { fields, readFiles: () => asProblem(readFiles()) }
}

async function asProblem<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'FST_FILES_LIMIT')
      throw tooMuch(`These are more than ${MAX_FILES} files. Import them a few at a time.`)
    // The form parser sets no status for an incomplete form, or for a body that is not a form.
    if (error instanceof Error && !(error instanceof Problem) && !('statusCode' in error)) throw brokenForm()
    throw error
  }
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

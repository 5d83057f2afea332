import { parentPort } from 'node:worker_threads'
import { parseFile, type ParseFileOptions } from '../parse-file.ts'

/** Message to this thread, which answers each one with a `ParsedFile`. */
export interface ParseTask extends ParseFileOptions {
  readonly bytes: Uint8Array
}

parentPort?.on('message', ({ bytes, ...options }: ParseTask) => {
  parentPort?.postMessage(parseFile(bytes, options))
})

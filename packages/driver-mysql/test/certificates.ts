import { execFile, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** False if certificates cannot be created. */
export const hasOpenssl: boolean = spawnSync('openssl', ['version']).status === 0

export interface Authority {
  /** Certificate of the authority, as PEM. */
  readonly caFile: string
  /** Creates a key and a certificate for these names, such as `DNS:localhost`, in these files. */
  issue(names: string, certFile: string, keyFile: string): Promise<void>
}

/** Creates an authority that no client trusts by default. */
export async function createAuthority(folder: string, name: string): Promise<Authority> {
  const caFile = join(folder, `${name}.pem`)
  const caKey = join(folder, `${name}.key`)
  const newKey = ['-newkey', 'rsa:2048', '-nodes', '-keyout']
  const subject = ['-subj', `/CN=${name}`, '-addext', 'basicConstraints=critical,CA:TRUE']
  await run('openssl', ['req', '-x509', ...newKey, caKey, '-out', caFile, '-days', '2', ...subject])
  return {
    caFile,
    async issue(names, certFile, keyFile) {
      const request = join(folder, 'request.pem')
      const extensions = join(folder, 'extensions.cnf')
      await writeFile(extensions, `subjectAltName=${names}\n`)
      await run('openssl', ['req', ...newKey, keyFile, '-out', request, '-subj', '/CN=database'])
      const signer = ['-CA', caFile, '-CAkey', caKey, '-CAcreateserial']
      const output = ['-out', certFile, '-days', '2', '-extfile', extensions]
      await run('openssl', ['x509', '-req', '-in', request, ...signer, ...output])
    },
  }
}

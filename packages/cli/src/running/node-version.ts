/** Returns an error message for a version of Node that `engines` of package.json excludes; otherwise undefined. */
export function nodeComplaint(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 18)) return undefined
  return `looseleaf needs Node 22.18 or later; this is Node ${version}.`
}

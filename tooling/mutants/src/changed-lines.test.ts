import { expect, it } from 'vitest'
import { readDiff } from './changed-lines.ts'

it('the reader of a diff returns added lines, and none where lines were only removed', () => {
  const diff = `diff --git a/x.ts b/x.ts
--- a/x.ts
+++ b/x.ts
@@ -3 +3,2 @@ function f() {
-old
+new
+newer
@@ -9,2 +10,0 @@
-gone
-gone too
@@ -20,0 +19 @@
+one
diff --git a/y.ts b/y.ts
--- /dev/null
+++ b/y.ts
@@ -0,0 +1,3 @@
+all
+of
+it`
  expect([...readDiff(diff)]).toEqual([
    [
      'x.ts',
      [
        [3, 5],
        [10, 10],
        [19, 20],
      ],
    ],
    ['y.ts', [[1, 4]]],
  ])
})

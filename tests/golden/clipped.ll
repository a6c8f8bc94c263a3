; a branch on a value: two regions, of which one runs; on a device both, and a choice

; == mul_sum
; loop [p0] kept 0 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [0]
;   %0 f32 = load a0
;   %1 f32 = op Mul %0 %0
;   %2 f32 = reduce sum %1
;   %3 f32 = store a1 %2
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %block.end, %work
  %task1 = phi i64 [ %2, %work ], [ %95, %block.end ]
  %11 = icmp slt i64 %task1, %3
  br i1 %11, label %task, label %task.end

task:                                             ; preds = %task.head
  br label %block.head

block.head:                                       ; preds = %tail.end, %task
  %block2 = phi i64 [ 0, %task ], [ %91, %tail.end ]
  %12 = phi float [ 0.000000e+00, %task ], [ %84, %tail.end ]
  %13 = phi float [ 0.000000e+00, %task ], [ %90, %tail.end ]
  %14 = icmp slt i64 %block2, %6
  br i1 %14, label %block, label %block.end

block:                                            ; preds = %block.head
  %15 = add i64 %block2, 8192
  %16 = call i64 @llvm.smin.i64(i64 %15, i64 %6)
  %17 = sub i64 %16, %block2
  %18 = and i64 %17, -32
  %19 = add i64 %block2, %18
  br label %vector.head

vector.head:                                      ; preds = %vector, %block
  %vector3 = phi i64 [ %block2, %block ], [ %48, %vector ]
  %20 = phi <8 x float> [ zeroinitializer, %block ], [ %24, %vector ]
  %21 = phi <8 x float> [ zeroinitializer, %block ], [ %25, %vector ]
  %22 = phi <8 x float> [ zeroinitializer, %block ], [ %26, %vector ]
  %23 = phi <8 x float> [ zeroinitializer, %block ], [ %27, %vector ]
  %24 = phi <8 x float> [ zeroinitializer, %block ], [ %44, %vector ]
  %25 = phi <8 x float> [ zeroinitializer, %block ], [ %45, %vector ]
  %26 = phi <8 x float> [ zeroinitializer, %block ], [ %46, %vector ]
  %27 = phi <8 x float> [ zeroinitializer, %block ], [ %47, %vector ]
  %28 = icmp slt i64 %vector3, %19
  br i1 %28, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %29 = getelementptr float, ptr %8, i64 %vector3
  %30 = load <8 x float>, ptr %29, align 4
  %31 = getelementptr float, ptr %8, i64 %vector3
  %32 = getelementptr float, ptr %31, i64 8
  %33 = load <8 x float>, ptr %32, align 4
  %34 = getelementptr float, ptr %8, i64 %vector3
  %35 = getelementptr float, ptr %34, i64 16
  %36 = load <8 x float>, ptr %35, align 4
  %37 = getelementptr float, ptr %8, i64 %vector3
  %38 = getelementptr float, ptr %37, i64 24
  %39 = load <8 x float>, ptr %38, align 4
  %40 = fmul <8 x float> %30, %30
  %41 = fmul <8 x float> %33, %33
  %42 = fmul <8 x float> %36, %36
  %43 = fmul <8 x float> %39, %39
  %44 = fadd <8 x float> %40, %20
  %45 = fadd <8 x float> %41, %21
  %46 = fadd <8 x float> %42, %22
  %47 = fadd <8 x float> %43, %23
  %48 = add i64 %vector3, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail4 = phi i64 [ %19, %vector.end ], [ %67, %tail ]
  %49 = phi <8 x float> [ %20, %vector.end ], [ %50, %tail ]
  %50 = phi <8 x float> [ %21, %vector.end ], [ %51, %tail ]
  %51 = phi <8 x float> [ %22, %vector.end ], [ %52, %tail ]
  %52 = phi <8 x float> [ %23, %vector.end ], [ %53, %tail ]
  %53 = phi <8 x float> [ %24, %vector.end ], [ %54, %tail ]
  %54 = phi <8 x float> [ %25, %vector.end ], [ %55, %tail ]
  %55 = phi <8 x float> [ %26, %vector.end ], [ %56, %tail ]
  %56 = phi <8 x float> [ %27, %vector.end ], [ %66, %tail ]
  %57 = icmp slt i64 %tail4, %16
  br i1 %57, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %58 = sub i64 %16, %tail4
  %59 = call i64 @llvm.umin.i64(i64 %58, i64 8)
  %60 = trunc i64 %59 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %60, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %61 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %62 = getelementptr float, ptr %8, i64 %tail4
  %63 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %62, i32 4, <8 x i1> %61, <8 x float> zeroinitializer)
  %64 = fmul <8 x float> %63, %63
  %65 = fadd <8 x float> %64, %49
  %66 = select <8 x i1> %61, <8 x float> %65, <8 x float> %49
  %67 = add i64 %tail4, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %68 = fadd <8 x float> %49, %53
  %69 = fadd <8 x float> %50, %54
  %70 = fadd <8 x float> %51, %55
  %71 = fadd <8 x float> %52, %56
  %72 = fadd <8 x float> %68, %70
  %73 = fadd <8 x float> %69, %71
  %74 = fadd <8 x float> %72, %73
  %75 = shufflevector <8 x float> %74, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %76 = shufflevector <8 x float> %74, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %77 = fadd <4 x float> %76, %75
  %78 = shufflevector <4 x float> %77, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %79 = shufflevector <4 x float> %77, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %80 = fadd <2 x float> %79, %78
  %81 = extractelement <2 x float> %80, i64 1
  %82 = extractelement <2 x float> %80, i64 0
  %83 = fadd float %82, %81
  %84 = fadd float %12, %83
  %85 = fsub float %84, %12
  %86 = fsub float %83, %85
  %87 = fsub float %84, %85
  %88 = fsub float %12, %87
  %89 = fadd float %88, %86
  %90 = fadd float %13, %89
  %91 = add i64 %block2, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %92 = fadd float %12, %13
  %93 = fcmp uno float %13, %13
  %94 = select i1 %93, float %12, float %92
  store float %94, ptr %10, align 4
  %95 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }

; == sqrt_gt
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 bool written
;   buffer b3 f32 written
;   access a0 b0 + 0 [0]
;   access a1 b1 + 0 [0]
;   access a2 b2 + 0 [0]
;   access a3 b3 + 0 [0]
;   %0 f32 = load a0
;   %1 f32 = op Sqrt %0
;   %2 f32 = load a1
;   %3 bool = op Lt %2 %1
;   %4 bool = store a2 %3
;   %5 f32 = store a3 %1
; p0 is 1
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 2
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 3
  %14 = load ptr, ptr %13, align 8
  %15 = mul i64 1, %6
  %16 = add i64 %6, 4095
  %17 = lshr i64 %16, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %49, %tail.end ]
  %18 = phi i64 [ %2, %work ], [ %48, %tail.end ]
  %19 = icmp slt i64 %task1, %3
  br i1 %19, label %task, label %task.end

task:                                             ; preds = %task.head
  %20 = load float, ptr %8, align 4
  %21 = call float @llvm.sqrt.f32(float %20)
  %22 = load float, ptr %10, align 4
  %23 = fcmp olt float %22, %21
  %24 = mul i64 %18, 4096
  %25 = add i64 %24, 4096
  %26 = call i64 @llvm.smin.i64(i64 %25, i64 %6)
  %27 = sub i64 %26, %24
  %28 = and i64 %27, -32
  %29 = add i64 %24, %28
  %30 = sub i64 %26, %24
  %31 = and i64 %30, -64
  %32 = add i64 %24, %31
  %33 = icmp slt i64 %24, %32
  br i1 %33, label %vectors, label %vectors.end

vectors:                                          ; preds = %vectors, %task
  %vectors2 = phi i64 [ %24, %task ], [ %35, %vectors ]
  %34 = zext i1 %23 to i8
  store i8 %34, ptr %12, align 1
  store float %21, ptr %14, align 4
  %35 = add i64 %vectors2, 64
  %36 = icmp slt i64 %35, %32
  br i1 %36, label %vectors, label %vectors.end

vectors.end:                                      ; preds = %vectors, %task
  %37 = icmp slt i64 %32, %29
  br i1 %37, label %vector, label %vector.end

vector:                                           ; preds = %vector, %vectors.end
  %vector3 = phi i64 [ %32, %vectors.end ], [ %39, %vector ]
  %38 = zext i1 %23 to i8
  store i8 %38, ptr %12, align 1
  store float %21, ptr %14, align 4
  %39 = add i64 %vector3, 32
  %40 = icmp slt i64 %39, %29
  br i1 %40, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %vectors.end
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail4 = phi i64 [ %29, %vector.end ], [ %47, %tail ]
  %41 = icmp slt i64 %tail4, %26
  br i1 %41, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %42 = sub i64 %26, %tail4
  %43 = call i64 @llvm.umin.i64(i64 %42, i64 8)
  %44 = trunc i64 %43 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %44, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %45 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %46 = zext i1 %23 to i8
  store i8 %46, ptr %12, align 1
  store float %21, ptr %14, align 4
  %47 = add i64 %tail4, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %48 = add i64 %18, 1
  %49 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.sqrt.f32(float) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

; == div_mul
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 f32
;   buffer b3 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [0]
;   access a2 b2 + 0 [0]
;   access a3 b3 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = load a2
;   %3 f32 = op Div %1 %2
;   %4 f32 = op Mul %0 %3
;   %5 f32 = store a3 %4
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 2
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 3
  %14 = load ptr, ptr %13, align 8
  %15 = mul i64 1, %6
  %16 = icmp sge i64 %15, 8388608
  %17 = ptrtoint ptr %14 to i64
  %18 = or i64 0, %17
  %19 = and i64 %18, 63
  %20 = icmp eq i64 %19, 0
  %21 = and i1 %16, %20
  %22 = add i64 %6, 4095
  %23 = lshr i64 %22, 12
  br label %task.head

done:                                             ; preds = %endif62, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %200, %tail.end ]
  %24 = phi i64 [ %2, %work ], [ %199, %tail.end ]
  %25 = icmp slt i64 %task1, %3
  br i1 %25, label %task, label %task.end

task:                                             ; preds = %task.head
  %26 = load float, ptr %10, align 4
  %27 = load float, ptr %12, align 4
  %28 = fdiv float %26, %27
  %29 = mul i64 %24, 4096
  %30 = add i64 %29, 4096
  %31 = call i64 @llvm.smin.i64(i64 %30, i64 %6)
  %32 = sub i64 %31, %29
  %33 = and i64 %32, -32
  %34 = add i64 %29, %33
  br i1 %21, label %then, label %else

then:                                             ; preds = %task
  %35 = sub i64 %31, %29
  %36 = and i64 %35, -64
  %37 = add i64 %29, %36
  %38 = icmp slt i64 %29, %37
  br i1 %38, label %vectors, label %vectors.end

vectors:                                          ; preds = %vectors, %then
  %vectors2 = phi i64 [ %29, %then ], [ %85, %vectors ]
  %39 = getelementptr float, ptr %8, i64 %vectors2
  %40 = load <8 x float>, ptr %39, align 4
  %41 = getelementptr float, ptr %8, i64 %vectors2
  %42 = getelementptr float, ptr %41, i64 8
  %43 = load <8 x float>, ptr %42, align 4
  %44 = getelementptr float, ptr %8, i64 %vectors2
  %45 = getelementptr float, ptr %44, i64 16
  %46 = load <8 x float>, ptr %45, align 4
  %47 = getelementptr float, ptr %8, i64 %vectors2
  %48 = getelementptr float, ptr %47, i64 24
  %49 = load <8 x float>, ptr %48, align 4
  %50 = getelementptr float, ptr %8, i64 %vectors2
  %51 = getelementptr float, ptr %50, i64 32
  %52 = load <8 x float>, ptr %51, align 4
  %53 = getelementptr float, ptr %8, i64 %vectors2
  %54 = getelementptr float, ptr %53, i64 40
  %55 = load <8 x float>, ptr %54, align 4
  %56 = getelementptr float, ptr %8, i64 %vectors2
  %57 = getelementptr float, ptr %56, i64 48
  %58 = load <8 x float>, ptr %57, align 4
  %59 = getelementptr float, ptr %8, i64 %vectors2
  %60 = getelementptr float, ptr %59, i64 56
  %61 = load <8 x float>, ptr %60, align 4
  %.splatinsert = insertelement <8 x float> poison, float %28, i64 0
  %.splat = shufflevector <8 x float> %.splatinsert, <8 x float> poison, <8 x i32> zeroinitializer
  %62 = fmul <8 x float> %40, %.splat
  %.splatinsert3 = insertelement <8 x float> poison, float %28, i64 0
  %.splat4 = shufflevector <8 x float> %.splatinsert3, <8 x float> poison, <8 x i32> zeroinitializer
  %63 = fmul <8 x float> %43, %.splat4
  %.splatinsert5 = insertelement <8 x float> poison, float %28, i64 0
  %.splat6 = shufflevector <8 x float> %.splatinsert5, <8 x float> poison, <8 x i32> zeroinitializer
  %64 = fmul <8 x float> %46, %.splat6
  %.splatinsert7 = insertelement <8 x float> poison, float %28, i64 0
  %.splat8 = shufflevector <8 x float> %.splatinsert7, <8 x float> poison, <8 x i32> zeroinitializer
  %65 = fmul <8 x float> %49, %.splat8
  %.splatinsert9 = insertelement <8 x float> poison, float %28, i64 0
  %.splat10 = shufflevector <8 x float> %.splatinsert9, <8 x float> poison, <8 x i32> zeroinitializer
  %66 = fmul <8 x float> %52, %.splat10
  %.splatinsert11 = insertelement <8 x float> poison, float %28, i64 0
  %.splat12 = shufflevector <8 x float> %.splatinsert11, <8 x float> poison, <8 x i32> zeroinitializer
  %67 = fmul <8 x float> %55, %.splat12
  %.splatinsert13 = insertelement <8 x float> poison, float %28, i64 0
  %.splat14 = shufflevector <8 x float> %.splatinsert13, <8 x float> poison, <8 x i32> zeroinitializer
  %68 = fmul <8 x float> %58, %.splat14
  %.splatinsert15 = insertelement <8 x float> poison, float %28, i64 0
  %.splat16 = shufflevector <8 x float> %.splatinsert15, <8 x float> poison, <8 x i32> zeroinitializer
  %69 = fmul <8 x float> %61, %.splat16
  %70 = getelementptr float, ptr %14, i64 %vectors2
  store <8 x float> %62, ptr %70, align 32, !nontemporal !0
  %71 = getelementptr float, ptr %14, i64 %vectors2
  %72 = getelementptr float, ptr %71, i64 8
  store <8 x float> %63, ptr %72, align 32, !nontemporal !0
  %73 = getelementptr float, ptr %14, i64 %vectors2
  %74 = getelementptr float, ptr %73, i64 16
  store <8 x float> %64, ptr %74, align 32, !nontemporal !0
  %75 = getelementptr float, ptr %14, i64 %vectors2
  %76 = getelementptr float, ptr %75, i64 24
  store <8 x float> %65, ptr %76, align 32, !nontemporal !0
  %77 = getelementptr float, ptr %14, i64 %vectors2
  %78 = getelementptr float, ptr %77, i64 32
  store <8 x float> %66, ptr %78, align 32, !nontemporal !0
  %79 = getelementptr float, ptr %14, i64 %vectors2
  %80 = getelementptr float, ptr %79, i64 40
  store <8 x float> %67, ptr %80, align 32, !nontemporal !0
  %81 = getelementptr float, ptr %14, i64 %vectors2
  %82 = getelementptr float, ptr %81, i64 48
  store <8 x float> %68, ptr %82, align 32, !nontemporal !0
  %83 = getelementptr float, ptr %14, i64 %vectors2
  %84 = getelementptr float, ptr %83, i64 56
  store <8 x float> %69, ptr %84, align 32, !nontemporal !0
  %85 = add i64 %vectors2, 64
  %86 = icmp slt i64 %85, %37
  br i1 %86, label %vectors, label %vectors.end

vectors.end:                                      ; preds = %vectors, %then
  %87 = icmp slt i64 %37, %34
  br i1 %87, label %vector, label %vector.end

vector:                                           ; preds = %vector, %vectors.end
  %vector17 = phi i64 [ %37, %vectors.end ], [ %110, %vector ]
  %88 = getelementptr float, ptr %8, i64 %vector17
  %89 = load <8 x float>, ptr %88, align 4
  %90 = getelementptr float, ptr %8, i64 %vector17
  %91 = getelementptr float, ptr %90, i64 8
  %92 = load <8 x float>, ptr %91, align 4
  %93 = getelementptr float, ptr %8, i64 %vector17
  %94 = getelementptr float, ptr %93, i64 16
  %95 = load <8 x float>, ptr %94, align 4
  %96 = getelementptr float, ptr %8, i64 %vector17
  %97 = getelementptr float, ptr %96, i64 24
  %98 = load <8 x float>, ptr %97, align 4
  %.splatinsert18 = insertelement <8 x float> poison, float %28, i64 0
  %.splat19 = shufflevector <8 x float> %.splatinsert18, <8 x float> poison, <8 x i32> zeroinitializer
  %99 = fmul <8 x float> %89, %.splat19
  %.splatinsert20 = insertelement <8 x float> poison, float %28, i64 0
  %.splat21 = shufflevector <8 x float> %.splatinsert20, <8 x float> poison, <8 x i32> zeroinitializer
  %100 = fmul <8 x float> %92, %.splat21
  %.splatinsert22 = insertelement <8 x float> poison, float %28, i64 0
  %.splat23 = shufflevector <8 x float> %.splatinsert22, <8 x float> poison, <8 x i32> zeroinitializer
  %101 = fmul <8 x float> %95, %.splat23
  %.splatinsert24 = insertelement <8 x float> poison, float %28, i64 0
  %.splat25 = shufflevector <8 x float> %.splatinsert24, <8 x float> poison, <8 x i32> zeroinitializer
  %102 = fmul <8 x float> %98, %.splat25
  %103 = getelementptr float, ptr %14, i64 %vector17
  store <8 x float> %99, ptr %103, align 32, !nontemporal !0
  %104 = getelementptr float, ptr %14, i64 %vector17
  %105 = getelementptr float, ptr %104, i64 8
  store <8 x float> %100, ptr %105, align 32, !nontemporal !0
  %106 = getelementptr float, ptr %14, i64 %vector17
  %107 = getelementptr float, ptr %106, i64 16
  store <8 x float> %101, ptr %107, align 32, !nontemporal !0
  %108 = getelementptr float, ptr %14, i64 %vector17
  %109 = getelementptr float, ptr %108, i64 24
  store <8 x float> %102, ptr %109, align 32, !nontemporal !0
  %110 = add i64 %vector17, 32
  %111 = icmp slt i64 %110, %34
  br i1 %111, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %vectors.end
  br label %endif

else:                                             ; preds = %task
  %112 = sub i64 %31, %29
  %113 = and i64 %112, -64
  %114 = add i64 %29, %113
  %115 = icmp slt i64 %29, %114
  br i1 %115, label %vectors26, label %vectors.end44

vectors26:                                        ; preds = %vectors26, %else
  %vectors27 = phi i64 [ %29, %else ], [ %162, %vectors26 ]
  %116 = getelementptr float, ptr %8, i64 %vectors27
  %117 = load <8 x float>, ptr %116, align 4
  %118 = getelementptr float, ptr %8, i64 %vectors27
  %119 = getelementptr float, ptr %118, i64 8
  %120 = load <8 x float>, ptr %119, align 4
  %121 = getelementptr float, ptr %8, i64 %vectors27
  %122 = getelementptr float, ptr %121, i64 16
  %123 = load <8 x float>, ptr %122, align 4
  %124 = getelementptr float, ptr %8, i64 %vectors27
  %125 = getelementptr float, ptr %124, i64 24
  %126 = load <8 x float>, ptr %125, align 4
  %127 = getelementptr float, ptr %8, i64 %vectors27
  %128 = getelementptr float, ptr %127, i64 32
  %129 = load <8 x float>, ptr %128, align 4
  %130 = getelementptr float, ptr %8, i64 %vectors27
  %131 = getelementptr float, ptr %130, i64 40
  %132 = load <8 x float>, ptr %131, align 4
  %133 = getelementptr float, ptr %8, i64 %vectors27
  %134 = getelementptr float, ptr %133, i64 48
  %135 = load <8 x float>, ptr %134, align 4
  %136 = getelementptr float, ptr %8, i64 %vectors27
  %137 = getelementptr float, ptr %136, i64 56
  %138 = load <8 x float>, ptr %137, align 4
  %.splatinsert28 = insertelement <8 x float> poison, float %28, i64 0
  %.splat29 = shufflevector <8 x float> %.splatinsert28, <8 x float> poison, <8 x i32> zeroinitializer
  %139 = fmul <8 x float> %117, %.splat29
  %.splatinsert30 = insertelement <8 x float> poison, float %28, i64 0
  %.splat31 = shufflevector <8 x float> %.splatinsert30, <8 x float> poison, <8 x i32> zeroinitializer
  %140 = fmul <8 x float> %120, %.splat31
  %.splatinsert32 = insertelement <8 x float> poison, float %28, i64 0
  %.splat33 = shufflevector <8 x float> %.splatinsert32, <8 x float> poison, <8 x i32> zeroinitializer
  %141 = fmul <8 x float> %123, %.splat33
  %.splatinsert34 = insertelement <8 x float> poison, float %28, i64 0
  %.splat35 = shufflevector <8 x float> %.splatinsert34, <8 x float> poison, <8 x i32> zeroinitializer
  %142 = fmul <8 x float> %126, %.splat35
  %.splatinsert36 = insertelement <8 x float> poison, float %28, i64 0
  %.splat37 = shufflevector <8 x float> %.splatinsert36, <8 x float> poison, <8 x i32> zeroinitializer
  %143 = fmul <8 x float> %129, %.splat37
  %.splatinsert38 = insertelement <8 x float> poison, float %28, i64 0
  %.splat39 = shufflevector <8 x float> %.splatinsert38, <8 x float> poison, <8 x i32> zeroinitializer
  %144 = fmul <8 x float> %132, %.splat39
  %.splatinsert40 = insertelement <8 x float> poison, float %28, i64 0
  %.splat41 = shufflevector <8 x float> %.splatinsert40, <8 x float> poison, <8 x i32> zeroinitializer
  %145 = fmul <8 x float> %135, %.splat41
  %.splatinsert42 = insertelement <8 x float> poison, float %28, i64 0
  %.splat43 = shufflevector <8 x float> %.splatinsert42, <8 x float> poison, <8 x i32> zeroinitializer
  %146 = fmul <8 x float> %138, %.splat43
  %147 = getelementptr float, ptr %14, i64 %vectors27
  store <8 x float> %139, ptr %147, align 4
  %148 = getelementptr float, ptr %14, i64 %vectors27
  %149 = getelementptr float, ptr %148, i64 8
  store <8 x float> %140, ptr %149, align 4
  %150 = getelementptr float, ptr %14, i64 %vectors27
  %151 = getelementptr float, ptr %150, i64 16
  store <8 x float> %141, ptr %151, align 4
  %152 = getelementptr float, ptr %14, i64 %vectors27
  %153 = getelementptr float, ptr %152, i64 24
  store <8 x float> %142, ptr %153, align 4
  %154 = getelementptr float, ptr %14, i64 %vectors27
  %155 = getelementptr float, ptr %154, i64 32
  store <8 x float> %143, ptr %155, align 4
  %156 = getelementptr float, ptr %14, i64 %vectors27
  %157 = getelementptr float, ptr %156, i64 40
  store <8 x float> %144, ptr %157, align 4
  %158 = getelementptr float, ptr %14, i64 %vectors27
  %159 = getelementptr float, ptr %158, i64 48
  store <8 x float> %145, ptr %159, align 4
  %160 = getelementptr float, ptr %14, i64 %vectors27
  %161 = getelementptr float, ptr %160, i64 56
  store <8 x float> %146, ptr %161, align 4
  %162 = add i64 %vectors27, 64
  %163 = icmp slt i64 %162, %114
  br i1 %163, label %vectors26, label %vectors.end44

vectors.end44:                                    ; preds = %vectors26, %else
  %164 = icmp slt i64 %114, %34
  br i1 %164, label %vector45, label %vector.end55

vector45:                                         ; preds = %vector45, %vectors.end44
  %vector46 = phi i64 [ %114, %vectors.end44 ], [ %187, %vector45 ]
  %165 = getelementptr float, ptr %8, i64 %vector46
  %166 = load <8 x float>, ptr %165, align 4
  %167 = getelementptr float, ptr %8, i64 %vector46
  %168 = getelementptr float, ptr %167, i64 8
  %169 = load <8 x float>, ptr %168, align 4
  %170 = getelementptr float, ptr %8, i64 %vector46
  %171 = getelementptr float, ptr %170, i64 16
  %172 = load <8 x float>, ptr %171, align 4
  %173 = getelementptr float, ptr %8, i64 %vector46
  %174 = getelementptr float, ptr %173, i64 24
  %175 = load <8 x float>, ptr %174, align 4
  %.splatinsert47 = insertelement <8 x float> poison, float %28, i64 0
  %.splat48 = shufflevector <8 x float> %.splatinsert47, <8 x float> poison, <8 x i32> zeroinitializer
  %176 = fmul <8 x float> %166, %.splat48
  %.splatinsert49 = insertelement <8 x float> poison, float %28, i64 0
  %.splat50 = shufflevector <8 x float> %.splatinsert49, <8 x float> poison, <8 x i32> zeroinitializer
  %177 = fmul <8 x float> %169, %.splat50
  %.splatinsert51 = insertelement <8 x float> poison, float %28, i64 0
  %.splat52 = shufflevector <8 x float> %.splatinsert51, <8 x float> poison, <8 x i32> zeroinitializer
  %178 = fmul <8 x float> %172, %.splat52
  %.splatinsert53 = insertelement <8 x float> poison, float %28, i64 0
  %.splat54 = shufflevector <8 x float> %.splatinsert53, <8 x float> poison, <8 x i32> zeroinitializer
  %179 = fmul <8 x float> %175, %.splat54
  %180 = getelementptr float, ptr %14, i64 %vector46
  store <8 x float> %176, ptr %180, align 4
  %181 = getelementptr float, ptr %14, i64 %vector46
  %182 = getelementptr float, ptr %181, i64 8
  store <8 x float> %177, ptr %182, align 4
  %183 = getelementptr float, ptr %14, i64 %vector46
  %184 = getelementptr float, ptr %183, i64 16
  store <8 x float> %178, ptr %184, align 4
  %185 = getelementptr float, ptr %14, i64 %vector46
  %186 = getelementptr float, ptr %185, i64 24
  store <8 x float> %179, ptr %186, align 4
  %187 = add i64 %vector46, 32
  %188 = icmp slt i64 %187, %34
  br i1 %188, label %vector45, label %vector.end55

vector.end55:                                     ; preds = %vector45, %vectors.end44
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end55
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail56 = phi i64 [ %34, %endif ], [ %198, %tail ]
  %189 = icmp slt i64 %tail56, %31
  br i1 %189, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %190 = sub i64 %31, %tail56
  %191 = call i64 @llvm.umin.i64(i64 %190, i64 8)
  %192 = trunc i64 %191 to i32
  %.splatinsert57 = insertelement <8 x i32> poison, i32 %192, i64 0
  %.splat58 = shufflevector <8 x i32> %.splatinsert57, <8 x i32> poison, <8 x i32> zeroinitializer
  %193 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat58
  %194 = getelementptr float, ptr %8, i64 %tail56
  %195 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %194, i32 4, <8 x i1> %193, <8 x float> zeroinitializer)
  %.splatinsert59 = insertelement <8 x float> poison, float %28, i64 0
  %.splat60 = shufflevector <8 x float> %.splatinsert59, <8 x float> poison, <8 x i32> zeroinitializer
  %196 = fmul <8 x float> %195, %.splat60
  %197 = getelementptr float, ptr %14, i64 %tail56
  call void @llvm.masked.store.v8f32.p0(<8 x float> %196, ptr %197, i32 4, <8 x i1> %193)
  %198 = add i64 %tail56, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %199 = add i64 %24, 1
  %200 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %21, label %then61, label %endif62

then61:                                           ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif62

endif62:                                          ; preds = %task.end, %then61
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}

; == copy
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = store a1 %0
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = mul i64 1, %6
  %12 = icmp sge i64 %11, 8388608
  %13 = ptrtoint ptr %10 to i64
  %14 = or i64 0, %13
  %15 = and i64 %14, 63
  %16 = icmp eq i64 %15, 0
  %17 = and i1 %12, %16
  %18 = add i64 %6, 4095
  %19 = lshr i64 %18, 12
  br label %task.head

done:                                             ; preds = %endif12, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %168, %tail.end ]
  %20 = phi i64 [ %2, %work ], [ %167, %tail.end ]
  %21 = icmp slt i64 %task1, %3
  br i1 %21, label %task, label %task.end

task:                                             ; preds = %task.head
  %22 = mul i64 %20, 4096
  %23 = add i64 %22, 4096
  %24 = call i64 @llvm.smin.i64(i64 %23, i64 %6)
  %25 = sub i64 %24, %22
  %26 = and i64 %25, -32
  %27 = add i64 %22, %26
  br i1 %17, label %then, label %else

then:                                             ; preds = %task
  %28 = sub i64 %24, %22
  %29 = and i64 %28, -64
  %30 = add i64 %22, %29
  %31 = icmp slt i64 %22, %30
  br i1 %31, label %vectors, label %vectors.end

vectors:                                          ; preds = %vectors, %then
  %vectors2 = phi i64 [ %22, %then ], [ %70, %vectors ]
  %32 = getelementptr float, ptr %8, i64 %vectors2
  %33 = load <8 x float>, ptr %32, align 4
  %34 = getelementptr float, ptr %8, i64 %vectors2
  %35 = getelementptr float, ptr %34, i64 8
  %36 = load <8 x float>, ptr %35, align 4
  %37 = getelementptr float, ptr %8, i64 %vectors2
  %38 = getelementptr float, ptr %37, i64 16
  %39 = load <8 x float>, ptr %38, align 4
  %40 = getelementptr float, ptr %8, i64 %vectors2
  %41 = getelementptr float, ptr %40, i64 24
  %42 = load <8 x float>, ptr %41, align 4
  %43 = getelementptr float, ptr %8, i64 %vectors2
  %44 = getelementptr float, ptr %43, i64 32
  %45 = load <8 x float>, ptr %44, align 4
  %46 = getelementptr float, ptr %8, i64 %vectors2
  %47 = getelementptr float, ptr %46, i64 40
  %48 = load <8 x float>, ptr %47, align 4
  %49 = getelementptr float, ptr %8, i64 %vectors2
  %50 = getelementptr float, ptr %49, i64 48
  %51 = load <8 x float>, ptr %50, align 4
  %52 = getelementptr float, ptr %8, i64 %vectors2
  %53 = getelementptr float, ptr %52, i64 56
  %54 = load <8 x float>, ptr %53, align 4
  %55 = getelementptr float, ptr %10, i64 %vectors2
  store <8 x float> %33, ptr %55, align 32, !nontemporal !0
  %56 = getelementptr float, ptr %10, i64 %vectors2
  %57 = getelementptr float, ptr %56, i64 8
  store <8 x float> %36, ptr %57, align 32, !nontemporal !0
  %58 = getelementptr float, ptr %10, i64 %vectors2
  %59 = getelementptr float, ptr %58, i64 16
  store <8 x float> %39, ptr %59, align 32, !nontemporal !0
  %60 = getelementptr float, ptr %10, i64 %vectors2
  %61 = getelementptr float, ptr %60, i64 24
  store <8 x float> %42, ptr %61, align 32, !nontemporal !0
  %62 = getelementptr float, ptr %10, i64 %vectors2
  %63 = getelementptr float, ptr %62, i64 32
  store <8 x float> %45, ptr %63, align 32, !nontemporal !0
  %64 = getelementptr float, ptr %10, i64 %vectors2
  %65 = getelementptr float, ptr %64, i64 40
  store <8 x float> %48, ptr %65, align 32, !nontemporal !0
  %66 = getelementptr float, ptr %10, i64 %vectors2
  %67 = getelementptr float, ptr %66, i64 48
  store <8 x float> %51, ptr %67, align 32, !nontemporal !0
  %68 = getelementptr float, ptr %10, i64 %vectors2
  %69 = getelementptr float, ptr %68, i64 56
  store <8 x float> %54, ptr %69, align 32, !nontemporal !0
  %70 = add i64 %vectors2, 64
  %71 = icmp slt i64 %70, %30
  br i1 %71, label %vectors, label %vectors.end

vectors.end:                                      ; preds = %vectors, %then
  %72 = icmp slt i64 %30, %27
  br i1 %72, label %vector, label %vector.end

vector:                                           ; preds = %vector, %vectors.end
  %vector3 = phi i64 [ %30, %vectors.end ], [ %91, %vector ]
  %73 = getelementptr float, ptr %8, i64 %vector3
  %74 = load <8 x float>, ptr %73, align 4
  %75 = getelementptr float, ptr %8, i64 %vector3
  %76 = getelementptr float, ptr %75, i64 8
  %77 = load <8 x float>, ptr %76, align 4
  %78 = getelementptr float, ptr %8, i64 %vector3
  %79 = getelementptr float, ptr %78, i64 16
  %80 = load <8 x float>, ptr %79, align 4
  %81 = getelementptr float, ptr %8, i64 %vector3
  %82 = getelementptr float, ptr %81, i64 24
  %83 = load <8 x float>, ptr %82, align 4
  %84 = getelementptr float, ptr %10, i64 %vector3
  store <8 x float> %74, ptr %84, align 32, !nontemporal !0
  %85 = getelementptr float, ptr %10, i64 %vector3
  %86 = getelementptr float, ptr %85, i64 8
  store <8 x float> %77, ptr %86, align 32, !nontemporal !0
  %87 = getelementptr float, ptr %10, i64 %vector3
  %88 = getelementptr float, ptr %87, i64 16
  store <8 x float> %80, ptr %88, align 32, !nontemporal !0
  %89 = getelementptr float, ptr %10, i64 %vector3
  %90 = getelementptr float, ptr %89, i64 24
  store <8 x float> %83, ptr %90, align 32, !nontemporal !0
  %91 = add i64 %vector3, 32
  %92 = icmp slt i64 %91, %27
  br i1 %92, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %vectors.end
  br label %endif

else:                                             ; preds = %task
  %93 = sub i64 %24, %22
  %94 = and i64 %93, -64
  %95 = add i64 %22, %94
  %96 = icmp slt i64 %22, %95
  br i1 %96, label %vectors4, label %vectors.end6

vectors4:                                         ; preds = %vectors4, %else
  %vectors5 = phi i64 [ %22, %else ], [ %135, %vectors4 ]
  %97 = getelementptr float, ptr %8, i64 %vectors5
  %98 = load <8 x float>, ptr %97, align 4
  %99 = getelementptr float, ptr %8, i64 %vectors5
  %100 = getelementptr float, ptr %99, i64 8
  %101 = load <8 x float>, ptr %100, align 4
  %102 = getelementptr float, ptr %8, i64 %vectors5
  %103 = getelementptr float, ptr %102, i64 16
  %104 = load <8 x float>, ptr %103, align 4
  %105 = getelementptr float, ptr %8, i64 %vectors5
  %106 = getelementptr float, ptr %105, i64 24
  %107 = load <8 x float>, ptr %106, align 4
  %108 = getelementptr float, ptr %8, i64 %vectors5
  %109 = getelementptr float, ptr %108, i64 32
  %110 = load <8 x float>, ptr %109, align 4
  %111 = getelementptr float, ptr %8, i64 %vectors5
  %112 = getelementptr float, ptr %111, i64 40
  %113 = load <8 x float>, ptr %112, align 4
  %114 = getelementptr float, ptr %8, i64 %vectors5
  %115 = getelementptr float, ptr %114, i64 48
  %116 = load <8 x float>, ptr %115, align 4
  %117 = getelementptr float, ptr %8, i64 %vectors5
  %118 = getelementptr float, ptr %117, i64 56
  %119 = load <8 x float>, ptr %118, align 4
  %120 = getelementptr float, ptr %10, i64 %vectors5
  store <8 x float> %98, ptr %120, align 4
  %121 = getelementptr float, ptr %10, i64 %vectors5
  %122 = getelementptr float, ptr %121, i64 8
  store <8 x float> %101, ptr %122, align 4
  %123 = getelementptr float, ptr %10, i64 %vectors5
  %124 = getelementptr float, ptr %123, i64 16
  store <8 x float> %104, ptr %124, align 4
  %125 = getelementptr float, ptr %10, i64 %vectors5
  %126 = getelementptr float, ptr %125, i64 24
  store <8 x float> %107, ptr %126, align 4
  %127 = getelementptr float, ptr %10, i64 %vectors5
  %128 = getelementptr float, ptr %127, i64 32
  store <8 x float> %110, ptr %128, align 4
  %129 = getelementptr float, ptr %10, i64 %vectors5
  %130 = getelementptr float, ptr %129, i64 40
  store <8 x float> %113, ptr %130, align 4
  %131 = getelementptr float, ptr %10, i64 %vectors5
  %132 = getelementptr float, ptr %131, i64 48
  store <8 x float> %116, ptr %132, align 4
  %133 = getelementptr float, ptr %10, i64 %vectors5
  %134 = getelementptr float, ptr %133, i64 56
  store <8 x float> %119, ptr %134, align 4
  %135 = add i64 %vectors5, 64
  %136 = icmp slt i64 %135, %95
  br i1 %136, label %vectors4, label %vectors.end6

vectors.end6:                                     ; preds = %vectors4, %else
  %137 = icmp slt i64 %95, %27
  br i1 %137, label %vector7, label %vector.end9

vector7:                                          ; preds = %vector7, %vectors.end6
  %vector8 = phi i64 [ %95, %vectors.end6 ], [ %156, %vector7 ]
  %138 = getelementptr float, ptr %8, i64 %vector8
  %139 = load <8 x float>, ptr %138, align 4
  %140 = getelementptr float, ptr %8, i64 %vector8
  %141 = getelementptr float, ptr %140, i64 8
  %142 = load <8 x float>, ptr %141, align 4
  %143 = getelementptr float, ptr %8, i64 %vector8
  %144 = getelementptr float, ptr %143, i64 16
  %145 = load <8 x float>, ptr %144, align 4
  %146 = getelementptr float, ptr %8, i64 %vector8
  %147 = getelementptr float, ptr %146, i64 24
  %148 = load <8 x float>, ptr %147, align 4
  %149 = getelementptr float, ptr %10, i64 %vector8
  store <8 x float> %139, ptr %149, align 4
  %150 = getelementptr float, ptr %10, i64 %vector8
  %151 = getelementptr float, ptr %150, i64 8
  store <8 x float> %142, ptr %151, align 4
  %152 = getelementptr float, ptr %10, i64 %vector8
  %153 = getelementptr float, ptr %152, i64 16
  store <8 x float> %145, ptr %153, align 4
  %154 = getelementptr float, ptr %10, i64 %vector8
  %155 = getelementptr float, ptr %154, i64 24
  store <8 x float> %148, ptr %155, align 4
  %156 = add i64 %vector8, 32
  %157 = icmp slt i64 %156, %27
  br i1 %157, label %vector7, label %vector.end9

vector.end9:                                      ; preds = %vector7, %vectors.end6
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end9
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail10 = phi i64 [ %27, %endif ], [ %166, %tail ]
  %158 = icmp slt i64 %tail10, %24
  br i1 %158, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %159 = sub i64 %24, %tail10
  %160 = call i64 @llvm.umin.i64(i64 %159, i64 8)
  %161 = trunc i64 %160 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %161, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %162 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %163 = getelementptr float, ptr %8, i64 %tail10
  %164 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %163, i32 4, <8 x i1> %162, <8 x float> zeroinitializer)
  %165 = getelementptr float, ptr %10, i64 %tail10
  call void @llvm.masked.store.v8f32.p0(<8 x float> %164, ptr %165, i32 4, <8 x i1> %162)
  %166 = add i64 %tail10, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %167 = add i64 %20, 1
  %168 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %17, label %then11, label %endif12

then11:                                           ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif12

endif12:                                          ; preds = %task.end, %then11
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
